"""One run of an elector: one campaign and one term after another, each of which ends in good order."""

from __future__ import annotations

from collections.abc import Callable

from kwsync._client import Client
from kwsync._election._announce import Announcer
from kwsync._election._campaign import Bell, Campaign, ElectionEnd
from kwsync._election._candidate import Candidate
from kwsync._election._leading import Leadership, Work, WorkFunction
from kwsync.errors import ErrorOrigin, local_error


class Run:
    """Everything between the call of `LeaderElector.run` and its return, on one thread.

    *stays*: the work goes on when its function returns. *again*: there is another campaign after a loss.
    """

    def __init__(
        self, candidate: Candidate, announcer: Announcer, function: WorkFunction, *, stays: bool, again: bool
    ) -> None:
        self._rules = candidate.rules
        self._candidate = candidate
        self._announcer = announcer
        self._function = function
        self._stays = stays
        self._again = again
        self._work: Work | None = None

    @property
    def is_over(self) -> bool:
        """Does none of its work run?"""
        work = self._work
        return work is None or work.is_over

    def join(self) -> None:
        """Wait until none of its work runs."""
        if self._work is not None:
            self._work.join()

    def give_up(self) -> None:
        """Lead no more, and return at once; the work is told to end."""
        self._candidate.give_up()
        if self._work is not None:
            self._work.tell_to_end()

    def elect(self, client: Client, bell: Bell) -> ElectionEnd:
        """Campaign and lead, until there is a reason to return."""
        self._candidate.stand()
        campaign = Campaign(self._candidate, client, bell, self._announcer.report, self._announcer.new_leader)
        while True:
            end = self._once(campaign, bell)
            if self._work is not None:
                self._work.raise_error()
            if end is not ElectionEnd.LOST or not self._again:
                return end

    def _once(self, campaign: Campaign, bell: Bell) -> ElectionEnd:
        """One campaign, and the term if it is won."""
        self._work, is_over = None, True
        end = ElectionEnd.CANCELLED  # as it is for Ctrl-C
        try:
            if campaign.win():
                end = self._lead(campaign, bell)
        finally:
            is_over = self._end_campaign(campaign, end)
        return end if is_over or not self._again else ElectionEnd.CANCELLED  # it was, while lost work went on

    def _lead(self, campaign: Campaign, bell: Bell) -> ElectionEnd:
        term = self._candidate.term
        assert term is not None  # it was won, and this thread alone ends it
        self._work = Work(
            self._function,
            Leadership(term.transitions, ends=self._candidate.until),
            name=f"kwsync-leading-{self._rules.name}",
            stays=self._stays,
            stopped=lambda: self._announcer.stopped(True),
            rang=bell.ring,
        )
        self._work.start()
        return campaign.hold(self._work)

    def _end_campaign(self, campaign: Campaign, end: ElectionEnd) -> bool:
        """Does nothing of it go on?"""
        if self._work is not None:
            return self._end_term(campaign, self._work, end)
        self._leave(campaign)
        return True

    def _leave(self, campaign: Campaign) -> None:
        """Campaign no more. A request that was given up may have taken the Lease."""
        self._candidate.give_up()
        self._announcer.stopped(False)
        if self._rules.release_on_stop:
            campaign.resign()

    def _end_term(self, campaign: Campaign, work: Work, end: ElectionEnd) -> bool:
        """Give back what is held only after the work has ended (B161); has it?"""
        goes_on = self._again and end is ElectionEnd.LOST
        seconds = self._rules.stop_after_loss if end is ElectionEnd.LOST else self._rules.stop_timeout
        is_over = campaign.let_end(work, seconds)
        if not is_over:
            self._candidate.give_up()
            message = f"the leading work has not ended in {seconds:g} s, so the Lease is not given back"
            self._announcer.report(local_error(ErrorOrigin.CALLBACK, message))
        work.say_stopped()
        if not is_over:
            is_over = goes_on and campaign.wait_over(work)
        if is_over and self._rules.release_on_stop and not (goes_on and work.error is None):
            campaign.resign()
        return is_over


class Claim:
    """Lets one run at a time be. It ends with the frame that holds it, wherever Ctrl-C strikes that.

    *claims* is what all of one elector share. The claim ends by `leave`; where an exception strikes even the line that
    calls it, it ends when the exception has been dealt with.
    """

    def __init__(self, claims: dict[str, object]) -> None:
        self._claims = claims
        self._mark = object()
        self._give_up: Callable[[], None] | None = None

    def take(self) -> bool:
        """False where there is another."""
        return self._claims.setdefault("present", self._mark) is self._mark  # atomic: of two callers one is the first

    def cover(self, run: Run) -> None:
        """This is the run: nothing of it goes on, unwatched, when the claim is over."""
        self._give_up = run.give_up

    def leave(self) -> None:
        """Let another be."""
        if self._claims.get("present") is not self._mark:
            return
        if self._give_up is not None:
            self._give_up()
        self._claims.pop("present", None)

    def __del__(self) -> None:
        self.leave()

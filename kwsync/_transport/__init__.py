"""The wire: the only importer of urllib3, certifi, ssl and socket.

``_sockets`` (waits that obey a guard) < ``_tls``, ``_proxy`` < ``_endpoint`` < ``_http`` (requests and answers), which
unpacks with ``_coding``; ``_faults`` turns what they raise into values.
"""

from kwsync._transport._faults import EXPECTED, fault, forget_frames
from kwsync._transport._http import Answer, Request, Transport

__all__ = ["EXPECTED", "Answer", "Request", "Transport", "fault", "forget_frames"]

"""One leader among several processes.

_lease                    what stands in the Lease of an election, and the rules a candidate was given; pure
_candidate                what a candidate does next; pure, and where the promise is kept that no two lead
_announce, _leading       whom an election tells; the leading work, and when it has to end
_campaign                 the loop that sends what a candidate says
_elector                  LeaderElector
"""

from kwsync._election._campaign import ElectionEnd
from kwsync._election._elector import LeaderElector
from kwsync._election._leading import Leadership

__all__ = ["ElectionEnd", "LeaderElector", "Leadership"]

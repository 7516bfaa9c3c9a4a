"""The wire: the only importer of urllib3, certifi, ssl and socket.

``_sockets`` (waits that obey a guard) < ``_tls`` (with ``_authorities``), ``_proxy`` < ``_endpoint`` < ``_connection``
< ``_pool`` < ``_http`` (requests and answers), which unpacks with ``_coding``; ``_faults`` turns what they raise into
values.
"""

from kwsync._transport._endpoint import endpoint_of
from kwsync._transport._faults import EXPECTED, fault, forget_frames
from kwsync._transport._http import Answer, Request, Transport
from kwsync._transport._proxy import choose_proxy

__all__ = ["EXPECTED", "Answer", "Request", "Transport", "choose_proxy", "endpoint_of", "fault", "forget_frames"]

"""Bodies in YAML, as far as they could be JSON as well."""

from __future__ import annotations

import json
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._decode import DecodeError, TooDeepError, check_levels, read

_TIME = "tag:yaml.org,2002:timestamp"


def read_yaml(body: bytes) -> Any:
    """What the YAML holds, through JSON; DecodeError for what is none, 415 where there is no parser for it."""
    # The seam of an optional dependency: kubectl and the official clients send JSON under the name of YAML.
    try:
        import yaml
    except ImportError:
        raise _status.unsupported_media_type(("application/json",)) from None
    try:
        # Of several documents a real server reads the first, and does not look at the others.
        value = next(yaml.load_all(body, _loader(yaml)), None)
        check_levels(value)
        return read(json.dumps(value).encode())
    except DecodeError:
        raise
    except RecursionError:
        raise TooDeepError from None
    # ValueError: a number of too many digits. TypeError: keys and values that JSON does not have.
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise DecodeError(str(error)) from None


def _loader(yaml: Any) -> Any:
    """The safe loader, which leaves times as the texts that they are in Kubernetes."""
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    kept = {first: [each for each in known if each[0] != _TIME] for first, known in resolvers.items()}
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": kept})

"""Print the oldest versions that the installed kwsync allows of what it requires, as pip's requirements."""

import importlib.metadata

for requirement in importlib.metadata.requires("kwsync") or []:
    if "extra ==" not in requirement:
        print(requirement.replace(">=", "=="))

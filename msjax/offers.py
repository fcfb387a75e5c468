"""What a module says of a name that it lacks."""


def missing_name(module: str):
    """A module's ``__getattr__``: AttributeError that says that msjax doesn't offer the name."""
    shown = module.replace("msjax", "mindspore", 1)

    def __getattr__(name):
        raise AttributeError(f"msjax doesn't offer {shown}.{name}.")

    return __getattr__

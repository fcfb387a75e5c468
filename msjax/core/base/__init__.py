"""The lowest floor, which every other package may use: the state of a thread, settings, messages, checks of arguments, types, names imported late."""

"""Other tools' Python interfaces, over anybit."""

"""The keys of JSON results that were renamed: the old key stays beside the new one."""

RENAMED = {"means_kept": "bias_corrected_layers", "moved_for_sums": "rounded_for_sums", "signal_to_noise_db": "sqnr_db"}


def aliases_in(document):
    """The new names of all renamed keys of a JSON document; an error unless both keys are there with the same value."""
    found = set()
    for old, new in RENAMED.items() if isinstance(document, dict) else ():
        assert (old in document) == (new in document), (old, new, document)
        if new in document:
            assert document[old] == document[new], (old, new, document)
            found.add(new)
    for one in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        found |= aliases_in(one)
    return found

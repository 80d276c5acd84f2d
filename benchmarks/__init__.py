"""One file per claim of the README; each prints ratios against its peers, measured in one run."""

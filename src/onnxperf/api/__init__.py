"""One file per public function."""

"""How results become runs that are kept: the store, its spool, tags, bundles and MLflow."""

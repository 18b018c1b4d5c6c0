package wire

import _ "embed"

//go:embed schema.gen.json
var schema string

// Schema returns the JSON Schema of native frames and all their parts, as internal/wiregen
// generated it from the catalog.
func Schema() string { return schema }

package wire

import _ "embed"

//go:embed schema.gen.json
var schema string

// Schema is the JSON Schema of native frames and of everything they are made of,
// as internal/wiregen made it from the catalog.
func Schema() string { return schema }

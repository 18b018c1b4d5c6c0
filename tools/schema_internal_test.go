package tools

import "testing"

// The form that validates is made at the first call of a tool, and panics if a schema is invalid.
func TestEverySchemaValidates(t *testing.T) {
	t.Parallel()
	r := newRegistry(Config{
		Web: struct{ Web }{}, Scripts: struct{ Scripts }{}, Browser: Browser{Pages: struct{ Pages }{}}, Notebooks: true,
		Env: Env{Names: []string{"TZ"}}, Apps: &Apps{},
	})
	for i := range r.all {
		tool := &r.all[i]
		if err := tool.use.schema().resolved().Validate("no object"); err == nil {
			t.Errorf("the schema of %s accepts a string, want an error", tool.name)
		}
	}
}

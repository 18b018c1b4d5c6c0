package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestLimitsAreFresh(t *testing.T) {
	t.Parallel()
	want, err := page(root, limits)
	if err != nil {
		t.Fatalf("limits.md: %v", err)
	}
	name := filepath.Join(root, "docs", "LIMITS.md")
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v): run make gen", name, err)
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := "package a\n\nconst (\n\tRows = 10_000\n\tbytes = 3 << 20\n\twait = 2 * unit\n\tunit = 90 * time.Second\n\tday = 24 * time.Hour\n\tshort = 1500 * time.Millisecond\n" +
		"\tpart = 0.85\n\tone = 1\n\tbad = f()\n)\n\nfunc (c *Config) defaults() {\n\tc.Limit = cmp.Or(c.Limit, 5)\n\tc.A, c.B = cmp.Or(c.A, 1), cmp.Or(c.B, 2)\n" +
		"\tc.Two = cmp.Or(c.Two, 1)\n\td.Two = cmp.Or(d.Two, 2)\n}\n"
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "a.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for template, want := range map[string]string{
		"{{a.Rows}}": "10,000", "{{size a.bytes}}": "3 MiB", "{{a.wait}}": "3 min", "{{a.unit}}": "90 s", "{{a.day}}": "24 h", "{{a.short}}": "1500 ms",
		"{{a.part}}": "0.85", "{{a.Limit}}, {{a.B}}": "5, 2", "{{size a.one}}": "1 bytes",
	} {
		got, err := page(dir, template)
		if _, text, _ := strings.Cut(string(got), "\n\n"); err != nil || text != want {
			t.Errorf("%s is %q, %v; want %q", template, text, err, want)
		}
	}
	for template, want := range map[string]string{
		"{{a.None}}": "no constant", "{{a.Two}}": "several", "{{a.bad}}": "cannot evaluate", "{{b.X}}": "b", "{{Rows}}": "placeholder",
	} {
		if _, err := page(dir, template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", template, err, want)
		}
	}
}

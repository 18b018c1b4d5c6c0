package skills_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/skills"
)

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSkillsAreLoaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"house/SKILL.md":      "---\nname: house-style\ndescription: >\n  How our reports\n  look.\nlicense: MIT\n---\n\n# Reports\nUse blue.\n",
		"house/colours/a.txt": "#00f",
		"letters/SKILL.md":    "\ufeff---\r\nname: letters\r\ndescription: How to write letters.\r\n---\r\nDear all,\r\n",
		"notes.txt":           "no skill", "empty/readme.md": "no skill either",
		"secret.txt": "outside",
	})
	all, err := skills.Load(dir)
	if err != nil || len(all) != 2 || all[0].Name != "house-style" || all[0].About != "How our reports look." || all[0].Text != "# Reports\nUse blue." || all[1].Text != "Dear all," {
		t.Fatalf("got %+v and %v, want both skills", all, err)
	}
	if text, err := all[0].File("colours/a.txt"); err != nil || text != "#00f" {
		t.Errorf("the file is %q (%v), want #00f", text, err)
	}
	if err := os.Symlink("../secret.txt", filepath.Join(dir, "house", "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../secret.txt", "link.txt", "/etc/passwd", "colours", "", "none"} {
		if text, err := all[0].File(name); !errors.Is(err, skills.ErrNoFile) {
			t.Errorf("the file %q is %q (%v), want %v", name, text, err, skills.ErrNoFile)
		}
	}
}

// A skill that cannot be used is named and does not keep the others from being used.
func TestBadSkills(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"no head":        {"# Title", "three dashes"},
		"no end of head": {"---\nname: a", "three dashes"},
		"bad YAML":       {"---\nname: [\n---\nx", "first lines"},
		"no name":        {"---\ndescription: x\n---\nx", "name"},
		"bad name":       {"---\nname: ../up\ndescription: x\n---\nx", "lower-case"},
		"no description": {"---\nname: a\n---\nx", "description"},
		"no text":        {"---\nname: a\ndescription: x\n---\n \n", "no text"},
		"long":           {"---\nname: a\ndescription: " + strings.Repeat("x", 2000) + "\n---\nx", "description"},
		"huge":           {strings.Repeat("x", skills.MaxText+1), "bytes"},
		"binary":         {"---\nname: a\ndescription: x\n---\n\xff", "UTF-8"},
		"twice":          {"---\nname: good\ndescription: x\n---\nx", "another one"},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"good/SKILL.md": "---\nname: good\ndescription: x\n---\nx", "wrong/SKILL.md": tt.text})
		all, err := skills.Load(dir)
		if len(all) != 1 || err == nil || !strings.Contains(err.Error(), "skill wrong: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v and %v, want the good one and %q", name, all, err, tt.want)
		}
	}
	if _, err := skills.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing folder is no error, want one")
	}
}

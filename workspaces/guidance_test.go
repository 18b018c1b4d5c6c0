package workspaces_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/workspaces"
)

// write writes a file, with the folders above it.
func write(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func skillText(name, text string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\n" + text
}

// guidanceOf returns the guidance of a session that works in a folder.
func guidanceOf(t *testing.T, dir string) workspaces.Guidance {
	t.Helper()
	s := openStore(t, dir)
	if _, err := s.Choose(t.Context(), "s", dir); err != nil {
		t.Fatal(err)
	}
	g, err := s.GuidanceOf(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGuidanceIsReadFromTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := folder(t, t.TempDir())
	write(t, "Use tabs.", dir, "AGENTS.md")
	write(t, skillText("release", "Tag it."), dir, ".claude", "skills", "release", "SKILL.md")
	write(t, skillText("release", "Another."), dir, ".claude", "skills", "zz", "SKILL.md")
	write(t, skillText("build", "Run make."), dir, ".agents", "skills", "build", "SKILL.md")
	write(t, "More.", dir, ".agents", "skills", "build", "more.md")

	g := guidanceOf(t, dir)
	if g.Folder != dir || g.Instructions != "Use tabs." || g.Cut {
		t.Errorf("got %+v, want the text of AGENTS.md in %s", g, dir)
	}
	if len(g.Skills) != 2 || g.Skills[0].Text != "Run make." || g.Skills[1].Text != "Tag it." {
		t.Fatalf("got skills %+v, want build and release", g.Skills)
	}
	if more, err := g.Skills[0].File("more.md"); err != nil || more != "More." {
		t.Errorf("more.md of the skill is %q, %v, want its text", more, err)
	}
	if text, err := g.Skills[0].File("../../../AGENTS.md"); err == nil {
		t.Errorf("a skill read %q outside its folder", text)
	}
	if g.Unusable == nil || !strings.Contains(g.Unusable.Error(), "another one has the name release") {
		t.Errorf("unusable: %v, want the second skill with the name release", g.Unusable)
	}
}

func TestSessionWithoutWorkspaceHasNoGuidance(t *testing.T) {
	t.Parallel()
	s := openStore(t, folder(t, t.TempDir()))
	if g, err := s.GuidanceOf(t.Context(), "s"); err != nil || g.Folder != "" || g.Instructions != "" {
		t.Errorf("got %+v, %v, want nothing", g, err)
	}
}

func TestGuidanceOfAForbiddenFolderIsNotRead(t *testing.T) {
	t.Parallel()
	root := folder(t, t.TempDir())
	dir := folder(t, root, "project")
	s := openStore(t, root)
	if _, err := s.Choose(t.Context(), "s", dir); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GuidanceOf(t.Context(), "s"); !errors.Is(err, workspaces.ErrNotAllowed) {
		t.Errorf("got %v, want %v", err, workspaces.ErrNotAllowed)
	}
}

func TestGuidanceFollowsNoLinkOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	root := folder(t, t.TempDir())
	dir, outside := folder(t, root, "project"), folder(t, root, "outside")
	write(t, "secret", outside, "AGENTS.md")
	write(t, skillText("secret", "secret"), outside, "secret", "SKILL.md")
	folder(t, dir, ".agents", "skills")
	for link, target := range map[string]string{
		"AGENTS.md":                             filepath.Join(outside, "AGENTS.md"),
		filepath.Join(".agents", "skills", "s"): filepath.Join(outside, "secret"),
		filepath.Join(".claude"):                outside,
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	g := guidanceOf(t, dir)
	if g.Instructions != "" || len(g.Skills) != 0 {
		t.Errorf("got %q and skills %+v, want nothing from outside the workspace", g.Instructions, g.Skills)
	}
	if g.Unusable == nil || !strings.Contains(g.Unusable.Error(), "AGENTS.md") {
		t.Errorf("unusable: %v, want the link AGENTS.md", g.Unusable)
	}
}

func TestLongInstructionsAreCutAtACharacter(t *testing.T) {
	t.Parallel()
	dir := folder(t, t.TempDir())
	write(t, "a"+strings.Repeat("é", 16<<10), dir, "AGENTS.md")
	g := guidanceOf(t, dir)
	if want := "a" + strings.Repeat("é", 8<<10-1); g.Instructions != want || !g.Cut {
		t.Errorf("got %d bytes, cut %v, want %d, cut", len(g.Instructions), g.Cut, len(want))
	}
}

func TestInstructionsMustBeAFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, t.TempDir())
	folder(t, dir, "AGENTS.md")
	if g := guidanceOf(t, dir); g.Instructions != "" || g.Unusable == nil {
		t.Errorf("got %q, %v, want nothing and a reason", g.Instructions, g.Unusable)
	}
}

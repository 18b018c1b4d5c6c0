package checkpoints_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/checkpoints"
)

// fingerprint describes every file below a folder: type, mode, time and content.
func fingerprint(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime().UnixNano(), sha256.Sum256(text))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestUserRepositoryIsUntouched saves and restores in a workspace that is a repository with
// everything that could react: hooks, filters, signing, templates, staged changes. Not one byte of
// it changes, and nothing of it runs.
func TestUserRepositoryIsUntouched(t *testing.T) { //nolint:paralleltest // it sets variables of git
	saves := 20
	if long() {
		saves = 1000
	}
	r := newRig(t, checkpoints.Config{PackEvery: 10, Limit: 5000})
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	writeScript(t, script, "echo \"$0 $*\" >>"+ran+"\ncat")
	git(t, r.w.Path, "init", "-q", ".")
	for i := range 20 {
		r.write(fmt.Sprintf("src/%d.txt", i), fmt.Sprintf("file %d\n", i))
	}
	r.write(".gitattributes", "*.txt filter=evil diff=evil\n")
	git(t, r.w.Path, "add", ".")
	git(t, r.w.Path, "commit", "-q", "-m", "first")
	r.write("src/1.txt", "staged\n")
	git(t, r.w.Path, "add", "src/1.txt")
	r.write("src/2.txt", "stashed\n")
	git(t, r.w.Path, "stash", "-q")
	git(t, r.w.Path, "tag", "v1")
	git(t, r.w.Path, "checkout", "-q", "-b", "work")
	r.write("src/3.txt", "staged again\n")
	git(t, r.w.Path, "add", "src/3.txt")
	r.write("src/4.txt", "not staged\n")
	for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction", "post-rewrite", "fsmonitor-watchman"} {
		if err := os.MkdirAll(r.path(".git/hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(script, r.path(".git/hooks/"+hook)); err != nil {
			t.Fatal(err)
		}
	}
	// What the environment of the hub and the files of its user say has no effect either.
	home := t.TempDir()
	evil := "[core]\n\thooksPath = " + r.path(".git/hooks") + "\n\tfsmonitor = " + script + "\n\tautocrlf = true\n\texcludesFile = " + r.path("src/1.txt") +
		"\n[filter \"evil\"]\n\tclean = " + script + "\n\tsmudge = " + script + "\n\trequired = true\n[diff \"evil\"]\n\ttextconv = " + script + "\n\tcommand = " + script +
		"\n[diff]\n\texternal = " + script + "\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = " + script + "\n[init]\n\ttemplateDir = " + r.path(".git") + "\n[alias]\n\tls-files = !" + script + "\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	before, status := fingerprint(t, r.path(".git")), git(t, r.w.Path, "status", "--porcelain=v2", "--branch")
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_DIR": r.path(".git"), "GIT_WORK_TREE": home, "GIT_INDEX_FILE": r.path(".git/index"),
		"GIT_OBJECT_DIRECTORY": r.path(".git/objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": r.path(".git/objects"), "GIT_NAMESPACE": "x",
		"GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": r.path(".git/hooks"),
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='" + script + "'", "GIT_TEMPLATE_DIR": r.path(".git"), "GIT_EXTERNAL_DIFF": script, "GIT_COMMON_DIR": r.path(".git"),
		"GIT_TRACE": ran, "GIT_CEILING_DIRECTORIES": "/", "GIT_EXEC_PATH": home, "GIT_EDITOR": script, "GIT_ASKPASS": script, "GIT_DEFAULT_HASH": "sha256",
	} {
		t.Setenv(name, value)
	}
	first := r.save()
	for i := range saves {
		r.write("src/5.txt", fmt.Sprintf("agent %d\n", i))
		r.write(fmt.Sprintf("new/%d.txt", i%7), fmt.Sprintf("agent %d\n", i))
		if c := r.save(); !c.New {
			t.Fatalf("save %d: got nothing new", i)
		}
		if i%10 == 9 {
			r.restore(first.Hash)
		}
	}
	if _, _, err := r.s.Patch(t.Context(), r.w, ses, first.Hash, checkpoints.Now, "", 1<<20); err != nil {
		t.Error(err)
	}
	r.restore(first.Hash)
	if err := os.Unsetenv("GIT_DIR"); err != nil { // t.Setenv restores it
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, fingerprint(t, r.path(".git"))); diff != "" {
		t.Errorf("the user's repository changed (-before +after):\n%s", diff)
	}
	for _, name := range []string{"GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_COMMON_DIR", "GIT_EXEC_PATH", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_TRACE"} {
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if got := git(t, r.w.Path, "-c", "core.hooksPath=/dev/null", "status", "--porcelain=v2", "--branch"); got != status {
		t.Errorf("the status of the user's repository: got\n%s\nwant\n%s", got, status)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("programs of the user ran:\n%s", text)
	}
	if entries, err := os.ReadDir(filepath.Join(r.repo(), "hooks")); err == nil {
		t.Errorf("the repository has hooks: %v", entries)
	}
}

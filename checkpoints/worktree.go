package checkpoints

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Worktree is a folder that has checkpoints.
type Worktree struct {
	// Name names the repository. It has letters, digits, dots, underscores and hyphens.
	Name string
	// Path is the folder. It is absolute.
	Path string
	// Ignore makes the rules of .gitignore files in the folder apply, and the list of [excludes].
	Ignore bool
	// Fixed are names in the folder, whatever their case, that a restore leaves as they are.
	Fixed []string
}

// workspacePrefix begins the names of workspaces; those of sessions begin with another one.
const workspacePrefix = "w-"

var validName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

func (w Worktree) check() error {
	if !validName.MatchString(w.Name) || strings.HasSuffix(w.Name, ".lock") {
		return fmt.Errorf("%w: invalid name %q", ErrProtected, w.Name)
	}
	if !filepath.IsAbs(w.Path) {
		return fmt.Errorf("%w: the path %q is not absolute", ErrProtected, w.Path)
	}
	return nil
}

// SessionWorktree returns the worktree of a session's own files. All of them are saved.
func SessionWorktree(session, path string) Worktree {
	return Worktree{Name: "s-" + session, Path: path}
}

// Workspace returns the worktree of a folder that the operator allows. It refuses folders that are
// no workspace: roots of file systems, the home of the user with its parents and its folders for
// documents, and folders that contain the checkpoints, or are contained in them.
func (s *Store) Workspace(path string) (Worktree, error) {
	resolved, err := filepath.Abs(path)
	if err == nil {
		resolved, err = filepath.EvalSymlinks(resolved)
	}
	if err != nil {
		return Worktree{}, fmt.Errorf("open workspace: %w", err)
	}
	if info, err := os.Stat(resolved); err != nil {
		return Worktree{}, fmt.Errorf("open workspace: %w", err)
	} else if !info.IsDir() {
		return Worktree{}, fmt.Errorf("%w: %s is not a folder", ErrProtected, resolved)
	}
	if contains(resolved, s.cfg.Dir) || contains(s.cfg.Dir, resolved) {
		return Worktree{}, fmt.Errorf("%w: %s and the folder of checkpoints contain each other", ErrProtected, resolved)
	}
	if filepath.Dir(resolved) == resolved {
		return Worktree{}, fmt.Errorf("%w: %s is the root of the file system", ErrProtected, resolved)
	}
	if home, err := os.UserHomeDir(); err == nil {
		if resolved, err := filepath.EvalSymlinks(home); err == nil {
			home = resolved
		}
		if contains(resolved, home) {
			return Worktree{}, fmt.Errorf("%w: %s contains the home folder", ErrProtected, resolved)
		}
		for _, name := range []string{"Desktop", "Documents", "Downloads"} {
			if resolved == filepath.Join(home, name) {
				return Worktree{}, fmt.Errorf("%w: %s is a folder for all kinds of documents", ErrProtected, resolved)
			}
		}
	}
	sum := sha256.Sum256([]byte(resolved))
	return Worktree{Name: workspacePrefix + hex.EncodeToString(sum[:10]), Path: resolved, Ignore: true}, nil
}

// contains reports whether a path is a folder or lies in it.
func contains(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// excludes lists what checkpoints of workspaces leave out besides the rules of .gitignore: what
// tools create again, and what is large or changes all the time. A restore does not touch it.
const excludes = `# Written by the hub.
node_modules/
.venv/
venv/
__pycache__/
*.pyc
.gradle/
.next/
.nuxt/
.parcel-cache/
.pytest_cache/
.mypy_cache/
.ruff_cache/
.sass-cache/
.terraform/
.terragrunt-cache/
.DS_Store
*.log
*.swp
*.tmp
`

// attributes switches off every conversion, whatever .gitattributes files of the worktree say. This
// file of the repository has the last word.
const attributes = "* -text -eol -filter -ident -working-tree-encoding !diff\n"

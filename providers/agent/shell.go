package agent

import (
	"os"
	"path/filepath"
	"slices"
)

// systemFolders have the shells of the system, besides the folders of PATH.
var systemFolders = []string{"/bin", "/usr/bin", "/usr/local/bin"}

// ShellScript returns the script of a command that only gives it to a shell, as /bin/bash -lc 'git status' does.
// Users and approval rules judge the script in place of that command, so the shell must be no file that the
// agent may have written: it is a name without a folder, or in a folder of the system or of PATH that is
// outside of dir, the working directory. ok is false for every other command.
func ShellScript(words []string, dir string) (script string, ok bool) {
	if len(words) != 3 || words[1] != "-c" && words[1] != "-lc" {
		return "", false
	}
	folder, name := filepath.Split(words[0])
	switch name {
	case "sh", "bash", "zsh":
		if folder == "" || isSystemFolder(filepath.Clean(folder), dir) && filepath.Clean(words[0]) == words[0] {
			return words[2], true
		}
	}
	return "", false
}

// isSystemFolder reports whether a folder is one of the system or of PATH, outside of dir.
func isSystemFolder(folder, dir string) bool {
	known := filepath.IsAbs(folder) && (slices.Contains(systemFolders, folder) || slices.Contains(filepath.SplitList(os.Getenv("PATH")), folder))
	return known && !isInside(folder, dir) && !isInside(resolved(folder), resolved(dir))
}

// isInside reports whether a path is dir or below it.
func isInside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// resolved returns a path without symbolic links; unchanged if it does not exist.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

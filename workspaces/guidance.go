package workspaces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/skills"
	"github.com/everdesk/everdesk/wire"
)

// InstructionsFile is the file of a workspace that tells agents how to work in it.
const InstructionsFile = "AGENTS.md"

// maxInstructions bounds the part of [InstructionsFile] that agents get, in bytes: each of their requests contains it.
const maxInstructions = 16 << 10

// skillFolders are the folders of a workspace that have skills. The first one that has a name counts.
func skillFolders() []string { return []string{".agents/skills", ".claude/skills"} }

// Guidance is what the files of a workspace tell agents.
type Guidance struct {
	// Folder is the workspace; empty if the session has none.
	Folder string
	// Instructions is the text of AGENTS.md, cut off after 16 KiB.
	Instructions string
	// Cut says that the file is longer.
	Cut bool
	// Skills are the skills of the workspace, in the order of their names.
	Skills []skills.Skill
	// Unusable says which of these files cannot be used, and why; nil if all can.
	Unusable error
}

// GuidanceOf reads what the files of a session's workspace tell agents. It reads no file outside the workspace. The
// error is that of [Store.Of].
func (s *Store) GuidanceOf(ctx context.Context, id wire.SessionID) (Guidance, error) {
	folder, err := s.Of(ctx, id)
	if err != nil || folder == "" {
		return Guidance{}, err
	}
	g := Guidance{Folder: folder}
	var wrong []error
	g.Instructions, g.Cut, err = readInstructions(folder)
	if err != nil {
		wrong = append(wrong, err)
	}
	for _, dir := range skillFolders() {
		found, err := skills.LoadWithin(folder, dir)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", dir, err))
		}
		for _, skill := range found {
			if !slices.ContainsFunc(g.Skills, func(o skills.Skill) bool { return o.Name == skill.Name }) {
				g.Skills = append(g.Skills, skill)
			}
		}
	}
	slices.SortFunc(g.Skills, func(a, b skills.Skill) int { return strings.Compare(a.Name, b.Name) })
	g.Unusable = errors.Join(wrong...)
	return g, nil
}

// readInstructions returns the beginning of [InstructionsFile], and whether there is more. A folder without one has
// an empty one.
func readInstructions(folder string) (text string, more bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", false, fmt.Errorf("open workspace: %w", err)
	}
	defer func() { _ = root.Close() }() // opened for reading only
	info, err := root.Stat(InstructionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", InstructionsFile, err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return "", false, fmt.Errorf("%s is no file", InstructionsFile)
	}
	f, err := root.Open(InstructionsFile)
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", InstructionsFile, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxInstructions+1))
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", InstructionsFile, err)
	}
	more = len(data) > maxInstructions
	// A character that is cut in two is left out, as is what is not text.
	return strings.ToValidUTF8(string(data[:min(len(data), maxInstructions)]), ""), more, nil
}

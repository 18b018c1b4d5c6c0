package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of skills.
const (
	// MaxSkills bounds the skills of a folder.
	MaxSkills = 100
	// MaxText bounds a text, in bytes.
	MaxText = 100 << 10
	// maxAbout bounds a description, in bytes: every request to a model contains all of them.
	maxAbout = 1024
)

// fileName is the file that makes a folder a skill.
const fileName = "SKILL.md"

// ErrNoFile means that a skill has no such text file.
var ErrNoFile = errors.New("the skill has no such text file")

// Skill is a text that teaches something.
type Skill struct {
	// Name has lower-case letters, digits and dashes.
	Name string
	// About says in a sentence what it teaches and when to read it.
	About string
	// Text is what it teaches.
	Text string

	// root is a folder that the texts cannot lead out of, and dir the one of the skill in it. A skill of the hub has
	// none.
	root, dir string
}

// validName is the form of a name.
var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Load reads all skills below a folder, in the order of their names. A skill may be a link to a folder
// elsewhere. A skill that cannot be used does not keep the others from being used: the error names it.
func Load(dir string) ([]Skill, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read skills: %w", err)
	}
	return readAll(entries, func(name string) (Skill, error) { return read(filepath.Join(dir, name), ".") })
}

// LoadWithin reads all skills below a folder of root, as [Load] does. Links that lead out of root are not followed.
// It returns none if there is no such folder.
func LoadWithin(root, dir string) ([]Skill, error) {
	within, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("read skills: %w", err)
	}
	defer func() { _ = within.Close() }() // opened for reading only
	entries, err := fs.ReadDir(within.FS(), filepath.ToSlash(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read skills: %w", err)
	}
	return readAll(entries, func(name string) (Skill, error) { return read(root, filepath.Join(dir, name)) })
}

// readAll reads the skills of the entries of a folder.
func readAll(entries []fs.DirEntry, read func(name string) (Skill, error)) ([]Skill, error) {
	var all []Skill
	var wrong []error
	for _, e := range entries {
		s, err := read(e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist): // no skill
		case err != nil:
			wrong = append(wrong, fmt.Errorf("skill %s: %w", e.Name(), err))
		case slices.ContainsFunc(all, func(o Skill) bool { return o.Name == s.Name }):
			wrong = append(wrong, fmt.Errorf("skill %s: another one has the name %s", e.Name(), s.Name))
		case len(all) >= MaxSkills:
			wrong = append(wrong, fmt.Errorf("skill %s: there are more than %d", e.Name(), MaxSkills))
		default:
			all = append(all, s)
		}
	}
	return all, errors.Join(wrong...)
}

// read reads the skill of a folder below root.
func read(root, dir string) (Skill, error) {
	if info, err := os.Stat(filepath.Join(root, dir)); err != nil || !info.IsDir() {
		return Skill{}, fs.ErrNotExist
	}
	text, err := readText(root, filepath.Join(dir, fileName))
	if err != nil {
		return Skill{}, err
	}
	s, err := parse(text)
	s.root, s.dir = root, dir
	return s, err
}

// parse reads the text of a file SKILL.md.
func parse(text string) (Skill, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, begins := strings.CutPrefix(text, "---\n")
	head, body, ends := strings.Cut(rest, "\n---\n")
	if !begins || !ends {
		return Skill{}, errors.New("want name and description between two lines of three dashes at the beginning")
	}
	var h struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal([]byte(head), &h); err != nil {
		return Skill{}, fmt.Errorf("read the first lines: %w", err)
	}
	about := strings.Join(strings.Fields(h.Description), " ")
	switch {
	case len(h.Name) > 64 || !validName.MatchString(h.Name):
		return Skill{}, fmt.Errorf("the name is %.100q, want lower-case letters, digits and dashes", h.Name)
	case about == "" || len(about) > maxAbout:
		return Skill{}, fmt.Errorf("the description has %d bytes, want 1 to %d", len(about), maxAbout)
	case strings.TrimSpace(body) == "":
		return Skill{}, errors.New("there is no text after the description")
	}
	return Skill{Name: h.Name, About: about, Text: strings.TrimSpace(body)}, nil
}

// File returns another text of the skill. The name is relative to its folder and cannot lead out of
// it.
func (s Skill) File(name string) (string, error) {
	if s.root == "" || !filepath.IsLocal(name) {
		return "", ErrNoFile
	}
	text, err := readText(s.root, filepath.Join(s.dir, name))
	if err != nil {
		return "", ErrNoFile
	}
	return text, nil
}

// readText reads a text file below a folder.
func readText(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // opened for reading only
	info, err := root.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxText {
		return "", fmt.Errorf("%s is no file of at most %d bytes", name, MaxText)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, MaxText))
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s is not text in UTF-8", name)
	}
	return string(data), nil
}

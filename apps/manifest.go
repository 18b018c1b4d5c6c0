package apps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/files"
)

// Errors of apps.
var (
	// ErrID means that the id of an app is invalid.
	ErrID = errors.New("invalid app id")
	// ErrManifest means that the manifest of an app is invalid.
	ErrManifest = errors.New("invalid manifest")
	// ErrNotFound means that there is no such app, sandbox or file.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge means that a file or an app is too large.
	ErrTooLarge = errors.New("too large")
	// ErrFull means that the user has too many apps, or an app too many files.
	ErrFull = errors.New("no space")
)

// Names of files with a meaning.
const (
	ManifestFile = "app.json"
	PageFile     = "index.html"
	SkillFile    = "SKILL.md"
)

// Bounds of manifests.
const (
	maxManifest     = 32 << 10 // bytes
	maxName         = 100      // characters
	maxDescription  = 500
	maxShort        = 100 // version and author
	maxIcon         = 8   // characters of an emoji, which may be composed
	maxAssociations = 10
	maxStyles       = 30
)

// Manifest describes an app. It is the file app.json:
//
//	{"name": "Counter", "description": "Counts up and down", "icon": "🔢", "appProtocol": true, "width": 320, "height": 260}
type Manifest struct {
	// Name is what people read below the icon.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Icon is an emoji, or the name of a picture in the app's folder, such as icon.svg.
	Icon    string `json:"icon,omitempty"`
	Version string `json:"version,omitempty"`
	Author  string `json:"author,omitempty"`
	// Hidden apps have no icon on the desktop.
	Hidden bool `json:"hidden,omitempty"`
	// AppProtocol says that the app registers state and commands for agents.
	AppProtocol      bool              `json:"appProtocol,omitempty"`
	FileAssociations []FileAssociation `json:"fileAssociations,omitempty"`
	// Variant, DockEdge, Frameless and WindowStyle are the look of its window, as in the action
	// window.create.
	Variant     string                     `json:"variant,omitempty"`
	DockEdge    string                     `json:"dockEdge,omitempty"`
	Frameless   bool                       `json:"frameless,omitempty"`
	WindowStyle map[string]json.RawMessage `json:"windowStyle,omitempty"`
	// Width and Height are the first size of its window in pixels; 0 means the default.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
}

// FileAssociation says which command of an app opens files with some extensions.
type FileAssociation struct {
	Extensions []string `json:"extensions"`
	Command    string   `json:"command"`
	// ParamKey is the parameter of the command that gets the content of the file.
	ParamKey string `json:"paramKey"`
}

var validID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// CheckID refuses an id that is not lower-case letters, digits and dashes, which are names of
// folders and parts of addresses on every system.
func CheckID(id string) error {
	if len(id) > 64 || !validID.MatchString(id) || files.CheckName(id) != nil {
		return fmt.Errorf("%w: %.100q, want lower-case letters, digits and dashes, at most 64", ErrID, id)
	}
	return nil
}

// ParseManifest reads the file app.json. Unknown fields are ignored.
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if len(data) > maxManifest {
		return m, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrManifest, len(data), maxManifest)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%w: there is more than one value", ErrManifest)
	}
	return m, m.Check()
}

// Check refuses a manifest with invalid fields.
func (m *Manifest) Check() error {
	for _, f := range []struct {
		name, value string
		most        int
	}{{"name", m.Name, maxName}, {"description", m.Description, maxDescription}, {"version", m.Version, maxShort}, {"author", m.Author, maxShort}} {
		if err := checkText(f.name, f.value, f.most); err != nil {
			return err
		}
	}
	switch {
	case strings.TrimSpace(m.Name) == "":
		return fmt.Errorf("%w: name: it is empty", ErrManifest)
	case m.Variant != "" && !slices.Contains([]string{"standard", "widget", "panel"}, m.Variant):
		return fmt.Errorf("%w: variant: %.50q, want standard, widget or panel", ErrManifest, m.Variant)
	case m.DockEdge != "" && !slices.Contains([]string{"top", "bottom"}, m.DockEdge):
		return fmt.Errorf("%w: dockEdge: %.50q, want top or bottom", ErrManifest, m.DockEdge)
	case m.Width < 0 || m.Width > 10_000 || m.Height < 0 || m.Height > 10_000:
		return fmt.Errorf("%w: width and height: want 0 to 10000 pixels", ErrManifest)
	case len(m.WindowStyle) > maxStyles:
		return fmt.Errorf("%w: windowStyle: more than %d entries", ErrManifest, maxStyles)
	}
	if err := m.checkIcon(); err != nil {
		return err
	}
	return m.checkAssociations()
}

func checkText(field, value string, most int) error {
	switch {
	case !utf8.ValidString(value):
		return fmt.Errorf("%w: %s: it is not UTF-8", ErrManifest, field)
	case utf8.RuneCountInString(value) > most:
		return fmt.Errorf("%w: %s: more than %d characters", ErrManifest, field, most)
	case strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("%w: %s: it has a control character", ErrManifest, field)
	}
	return nil
}

// pictureTypes are the pictures that can be icons, by extension.
var pictureTypes = map[string]string{
	".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
}

// IconFile returns the name of the file with the icon, or "" if the icon is an emoji or missing.
func (m *Manifest) IconFile() string {
	if pictureTypes[strings.ToLower(path.Ext(m.Icon))] != "" {
		return m.Icon
	}
	return ""
}

// IconType returns the media type of the file with the icon, or "".
func (m *Manifest) IconType() string { return pictureTypes[strings.ToLower(path.Ext(m.IconFile()))] }

func (m *Manifest) checkIcon() error {
	if name := m.IconFile(); name != "" {
		if err := files.CheckName(name); err != nil {
			return fmt.Errorf("%w: icon: %w", ErrManifest, err)
		}
		return nil
	}
	return checkText("icon (an emoji, or the name of a picture)", m.Icon, maxIcon)
}

func (m *Manifest) checkAssociations() error {
	if len(m.FileAssociations) > maxAssociations {
		return fmt.Errorf("%w: fileAssociations: more than %d", ErrManifest, maxAssociations)
	}
	for i, a := range m.FileAssociations {
		field := fmt.Sprintf("fileAssociations[%d]", i)
		if len(a.Extensions) == 0 || len(a.Extensions) > 20 || a.Command == "" {
			return fmt.Errorf("%w: %s: want 1 to 20 extensions and a command", ErrManifest, field)
		}
		for _, text := range append([]string{a.Command, a.ParamKey}, a.Extensions...) {
			if err := checkText(field, text, maxShort); err != nil {
				return err
			}
		}
	}
	return nil
}

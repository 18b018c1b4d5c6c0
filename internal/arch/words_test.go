package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metaphors maps words that must not occur in names to the standard term.
var metaphors = map[string]string{
	"beat": "heartbeat, or renewal of a lease", "beats": "heartbeats",
	"birth": "create lock", "births": "create locks",
	"cries": "log limiter",
	"crew":  "session runner", "crews": "session runners",
	"deed": "action or permission", "deeds": "actions or permissions",
	"desk": "desktop, or session", "desks": "desktops, or sessions",
	"door": "protocol, or server", "doors": "connection registry",
	"employer": "session ref",
	"errand":   "replica command", "errands": "replica commands",
	"fleet": "membership, or replicas", "fleets": "replicas",
	"gallery": "admin streams",
	"glance":  "fast frame path",
	"grave":   "tombstone", "graves": "tombstones",
	"gulp": "fast frame path", "gulps": "fast frame path",
	"hasty": "non-blocking",
	"heart": "heartbeat", "pulse": "heartbeat",
	"house":   "hub",
	"keeper":  "live session",
	"mcpdoor": "mcpserver",
	"mind":    "provider", "minds": "providers",
	"patience": "timeout",
	"porch":    "pollers",
	"quota":    "rate limit",
	"seat":     "slot", "seats": "slots",
	"shelf":  "file store",
	"staff":  "runner",
	"suffer": "set a store issue",
	"talk":   "provider session, or conversation", "talks": "provider sessions, or conversations",
	"trouble": "failure, or store unavailable", "troubles": "failures",
	"usher": "poller", "ushers": "pollers",
	"wish": "order or request", "wishes": "orders or requests",
}

// lastWords are metaphors as the last word of a name only. Before another word they are verbs: to hand over.
var lastWords = map[string]string{"hands": "tool executor"}

// phrases are constructions that comments must not contain, with a hint for each.
var phrases = map[string]string{
	"nobody":   "name the component, or use the passive voice",
	"somebody": "name the component or the user",
	"is told":  "use: receives, is notified, or gets an error",
}

var (
	// wordOf matches the words of a name.
	wordOf = regexp.MustCompile(`[A-Z]+(?:[^a-z]|$)|[A-Z]?[a-z]+`)
	// phraseOf matches a phrase of phrases in a comment.
	phraseOf = regexp.MustCompile(`(?i)\b(?:nobody|somebody|is\s+told)\b`)
	// lineBreak matches the break of a line in a comment.
	lineBreak = regexp.MustCompile(`\s*\n\s*(?://|\*)?\s*`)
)

// names are the names that were checked, because most names occur many times.
type names map[string]bool

// check reports a metaphor in name, once.
func (n names) check(t *testing.T, where, name string) {
	t.Helper()
	if n[name] {
		return
	}
	n[name] = true
	words := wordOf.FindAllString(name, -1)
	for i, word := range words {
		term, found := metaphors[strings.ToLower(word)]
		if !found && i == len(words)-1 {
			term, found = lastWords[strings.ToLower(word)]
		}
		if found {
			t.Errorf("%s: %s contains %q, want the standard term: %s", where, name, word, term)
		}
	}
}

// checkComment reports phrases in a comment.
func checkComment(t *testing.T, where, text string) {
	t.Helper()
	for _, p := range phraseOf.FindAllString(lineBreak.ReplaceAllString(text, " "), -1) {
		t.Errorf("%s: the comment contains %q, want another construction (%s)", where, p, phrases[strings.Join(strings.Fields(strings.ToLower(p)), " ")])
	}
}

// check reports metaphors in the names of a Go file, and phrases in its comments.
func (s source) check(t *testing.T, seen names) {
	t.Helper()
	seen.check(t, s.path, strings.TrimSuffix(filepath.Base(s.path), ".go"))
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			seen.check(t, s.line(id), id.Name)
		}
		return true
	})
	for _, group := range s.file.Comments {
		checkComment(t, s.line(group), group.Text())
		for _, c := range group.List { // Text leaves out directives
			if strings.HasPrefix(c.Text, "//nolint") {
				checkComment(t, s.line(c), c.Text)
			}
		}
	}
}

// walk calls with for the files below a folder of the repository that have one of the extensions.
func walk(t *testing.T, folder string, extensions []string, with func(path, text string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"node_modules", "dist"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(extensions, filepath.Ext(path)) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		with(path, string(text))
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%s: found %d files with the extensions %v and the error %v, want some and no error", folder, files, extensions, err)
	}
}

func TestNamesAreNoMetaphors(t *testing.T) {
	t.Parallel()
	seen := names{}
	for _, p := range packages(t) {
		for _, s := range sources(t, p) {
			s.check(t, seen)
		}
	}
	// The benchmarks are a module of their own.
	walk(t, "bench", []string{".go"}, func(path, text string) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		source{path, []byte(text), set, file}.check(t, seen)
	})
}

var (
	// scriptToken matches the comments, strings and names of a script. A template is a string with all it contains.
	scriptToken = regexp.MustCompile("(?s)//[^\n]*|/\\*.*?\\*/|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`|[A-Za-z_$][\\w$]*")
	// scriptName matches a name of a script.
	scriptName = regexp.MustCompile(`^[A-Za-z_$]`)
)

// platformNames are names of browsers and libraries that the pages use.
var platformNames = []string{}

func TestNamesOfPagesAreNoMetaphors(t *testing.T) {
	t.Parallel()
	seen := names{}
	for _, name := range platformNames {
		seen[name] = true
	}
	walk(t, "web", []string{".ts", ".tsx"}, func(path, text string) {
		seen.check(t, path, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		for _, at := range scriptToken.FindAllStringIndex(text, -1) {
			where := path + ":" + strconv.Itoa(1+strings.Count(text[:at[0]], "\n"))
			switch found := text[at[0]:at[1]]; {
			case strings.HasPrefix(found, "/"):
				checkComment(t, where, found)
			case scriptName.MatchString(found):
				seen.check(t, where, found)
			}
		}
	})
}

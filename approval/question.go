package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"path"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// NewQuestion makes a question of a tool and what it is given. Which of its values a tool
// heeds only the tool knows, so that all count, at any depth.
func NewQuestion(tool string, input []byte) Question {
	q := Question{Ask: wire.AskTool, Tool: tool}
	if server, name, ok := mcpName(tool); ok {
		q.Ask, q.Server, q.Tool = wire.AskUseMCPServer, server, name
		return q
	}
	given, err := valuesOf(input)
	q.Unclear = err != nil
	switch {
	case PermissionOf(tool) == PermissionRuns:
		q.Ask = wire.AskCommand
		q.runs(given)
	case tool == "use_mcp_tool", tool == "access_mcp_resource":
		q.Ask, q.Resource = wire.AskUseMCPServer, tool == "access_mcp_resource"
		q.Server, q.Tool = q.only(given, "servername"), q.only(given, "toolname")
	default:
		q.concerns(given)
		if tool == "config_hook" || strings.HasPrefix(tool, "system:") {
			q.Outside, q.Protected = true, true
		}
	}
	return q
}

// mcpName takes the name of another server's tool apart.
func mcpName(tool string) (server, name string, ok bool) {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}

// value is a value that a tool is given.
type value struct {
	// key is its name in small letters without _ and -, for tools spell it as they
	// like; of what is in a list it is the list's.
	key  string
	text string
	// isName says that it is the name of another, isText that it is a text, top that
	// it is in nothing else.
	isName, isText, top bool
}

var errNoObject = errors.New("what a tool is given is no object")

// valuesOf are all values of an object, also of a name that is there twice. Names
// are values as well: some tools are given files by name.
func valuesOf(input []byte) ([]value, error) {
	if trimmed := bytes.TrimSpace(input); !json.Valid(trimmed) || trimmed[0] != '{' {
		return nil, errNoObject
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var all []value
	err := readValues(d, "", 0, &all)
	return all, err
}

func readValues(d *json.Decoder, key string, depth int, all *[]value) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			if err := readValues(d, key, depth+1, all); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case json.Delim('{'):
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			*all = append(*all, value{text: name, isName: true, isText: true})
			if err := readValues(d, strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name)), depth+1, all); err != nil {
				return err
			}
		}
		_, err = d.Token()
	default:
		text, ok := token.(string)
		*all = append(*all, value{key: key, text: text, isText: ok, top: depth == 1})
	}
	return err
}

// only is the value of a name, if there is no more than one.
func (q *Question) only(given []value, key string) string {
	found, text := false, ""
	for _, v := range given {
		if v.key == key {
			q.Unclear = q.Unclear || found || !v.isText || !v.top
			found, text = true, v.text
		}
	}
	return text
}

var (
	commandKeys = wordSet("command cmd script")
	// asideKeys say nothing about what is run.
	asideKeys = wordSet("description explanation title reason justification timeout timeoutms timeoutseconds yieldtimems maxoutputtokens runinbackground")
	// placeKeys say where.
	placeKeys = wordSet("cwd workdir workingdirectory directory path")
)

// runs takes what a shell is to run. If a tool is given more than one command, or
// something that nobody knows, no rule can say what runs.
func (q *Question) runs(given []value) {
	var lines []string
	for _, v := range given {
		switch {
		case v.isName || asideKeys[v.key]:
		case commandKeys[v.key]:
			q.Unclear = q.Unclear || !v.isText || !v.top
			if !v.top && len(lines) > 0 {
				lines[len(lines)-1] += " " + v.text // the words of one command
			} else {
				lines = append(lines, v.text)
			}
		case placeKeys[v.key] && v.top:
			q.Unclear = q.Unclear || v.isText && outside(v.text)
		default:
			q.Unclear = true
		}
	}
	q.Unclear = q.Unclear || len(lines) > 1
	q.Command = strings.Join(lines, "\n")
}

// textKeys are names of what is written, looked for or told: it is about anything.
var textKeys = wordSet("content contents text body oldstring newstring oldstr newstr oldtext newtext search replace replacement " +
	"filetext inserttext newsource description explanation reason title prompt query regex message instruction instructions diff patch input")

// concerns takes what files a tool works on.
func (q *Question) concerns(given []value) {
	named := false
	look := func(at string) {
		q.Outside = q.Outside || outside(at)
		q.Protected = q.Protected || isProtected(at)
	}
	for _, v := range given {
		switch {
		case !v.isText || v.text == "":
		case textKeys[v.key] || v.key == "pattern" && searchesText(q.Tool):
			if !patches(q.Tool) && !patchKeys[v.key] {
				continue
			}
			for at, names := range patched(v.text) {
				named = named || names
				look(at)
			}
		default:
			named = named || strings.Contains(v.key, "path") || strings.Contains(v.key, "file")
			look(v.text)
			// Of a pattern every branch is a path.
			for at := range strings.FieldsFuncSeq(v.text, func(c rune) bool { return strings.ContainsRune("{},()|\n", c) }) {
				look(at)
			}
		}
	}
	// Of a tool that writes and names nothing nobody knows where it works.
	q.Outside = q.Outside || !named && PermissionOf(q.Tool) == PermissionWrites
}

// searchesText reports whether a tool's pattern is one of texts, not of paths.
func searchesText(tool string) bool {
	switch tool {
	case "Grep", "grep", "search_files", "searchFiles":
		return true
	}
	return false
}

// patches reports whether a tool takes patches, which name files themselves.
func patches(tool string) bool {
	tool = strings.ToLower(tool)
	return strings.Contains(tool, "patch") || strings.Contains(tool, "diff")
}

var (
	patchKeys  = wordSet("patch diff input")
	patchHeads = []string{"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ", "Index:", "***", "diff --git "}
)

// patched yields all that may be a path in a patch, and whether it is certain that
// it is one.
func patched(patch string) iter.Seq2[string, bool] {
	return func(yield func(at string, names bool) bool) {
		for line := range strings.Lines(patch) {
			line = strings.TrimSpace(line)
			for _, head := range patchHeads {
				rest, ok := strings.CutPrefix(line, head)
				if !ok {
					continue
				}
				if strings.ContainsAny(rest, "\"\\") {
					rest = "/" // it is written in escapes
				}
				rest, _, _ = strings.Cut(strings.TrimSpace(rest), "\t")
				_, file, names := strings.Cut(rest, "File:")
				parts := append(strings.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == ':' }), rest, file)
				for _, at := range parts {
					if at = strings.TrimSpace(at); at != "" && at != "/dev/null" && !yield(at, names || head == "+++ ") {
						return
					}
				}
			}
		}
	}
}

// plainPath is a path as those see it that are generous with how it is written.
func plainPath(at string) string {
	return strings.ReplaceAll(strings.Trim(at, " \t\r\n\"'`<>@"), `\`, "/")
}

// outside reports whether a path may lead out of the workspace. Where that is only
// the backend knows, so that a path from the root counts as one that does.
func outside(at string) bool {
	at = plainPath(at)
	for name := range strings.SplitSeq(at, "/") {
		if strings.TrimRight(name, " ") == ".." {
			return true
		}
	}
	return path.IsAbs(at) || strings.HasPrefix(at, "~") || len(at) > 1 && at[1] == ':' || strings.Contains(at, ":/") ||
		strings.ContainsAny(at, "$%") || strings.ContainsFunc(at, isStrange)
}

// protectedNames are files and folders that say what agents do, in small letters:
// in many file systems that is the same.
var protectedNames = wordSet(".git .github .vscode .idea .roo .claude .codex .gemini .cursor .rooignore .roomodes .roorules " +
	".clinerules .rooprotected agents.md agent.md claude.md gemini.md")

// isProtected reports whether something on a path says what agents do.
func isProtected(at string) bool {
	for name := range strings.SplitSeq(strings.ToLower(plainPath(at)), "/") {
		name = strings.TrimRight(name, ". ")
		if protectedNames[name] || strings.HasPrefix(name, ".env") || strings.HasPrefix(name, "git~") {
			return true
		}
	}
	return strings.ContainsFunc(at, isStrange)
}

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

// NewQuestion classifies the call of a tool with a JSON input. Only the tool knows which of
// its arguments matter, so all of them count, at any depth.
func NewQuestion(tool string, input []byte) Question {
	q := Question{Ask: wire.AskTool, Tool: tool}
	if server, name, ok := mcpName(tool); ok {
		q.Ask, q.Server, q.Tool = wire.AskUseMCPServer, server, name
		return q
	}
	given, err := argumentsOf(input)
	q.Unclear = err != nil
	switch {
	case tool == "notebook:run_cell": // its code is no command line
	case PermissionOf(tool) == PermissionRuns:
		q.Ask = wire.AskCommand
		q.setCommand(given)
	case tool == "use_mcp_tool", tool == "access_mcp_resource":
		q.Ask, q.Resource = wire.AskUseMCPServer, tool == "access_mcp_resource"
		q.Server, q.Tool = q.singleValue(given, "servername"), q.singleValue(given, "toolname")
	default:
		q.classifyPaths(given)
		if tool == "config_hook" || strings.HasPrefix(tool, "system:") {
			q.Outside, q.Protected = true, true
		}
	}
	return q
}

// mcpName splits the name of an MCP tool, mcp__server__tool.
func mcpName(tool string) (server, name string, ok bool) {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}

// argument is one value, or one object key, of a tool's input.
type argument struct {
	// key is the name of the value in lower case without _ and -, because tools differ in
	// spelling; a list item has the key of its list.
	key  string
	text string
	// isName marks an object key, isText a string value, top a value directly in the
	// outermost object.
	isName, isText, top bool
}

var errNotObject = errors.New("tool input is not a JSON object")

// argumentsOf returns all values of a JSON object, including those of duplicate keys. Keys
// are arguments as well, because some tools take file names as keys.
func argumentsOf(input []byte) ([]argument, error) {
	if trimmed := bytes.TrimSpace(input); !json.Valid(trimmed) || trimmed[0] != '{' {
		return nil, errNotObject
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var all []argument
	err := readArguments(d, "", 0, &all)
	return all, err
}

func readArguments(d *json.Decoder, key string, depth int, all *[]argument) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			if err := readArguments(d, key, depth+1, all); err != nil {
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
			*all = append(*all, argument{text: name, isName: true, isText: true})
			if err := readArguments(d, strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name)), depth+1, all); err != nil {
				return err
			}
		}
		_, err = d.Token()
	default:
		text, ok := token.(string)
		*all = append(*all, argument{key: key, text: text, isText: ok, top: depth == 1})
	}
	return err
}

// singleValue returns the value of a key. It marks the question as unclear if the key
// occurs twice, is nested or is not a string.
func (q *Question) singleValue(given []argument, key string) string {
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
	// ignoredKeys are arguments that do not change what a command does.
	ignoredKeys = wordSet("description explanation title reason justification timeout timeoutms timeoutseconds yieldtimems maxoutputtokens runinbackground")
	// directoryKeys are arguments that name the working directory.
	directoryKeys = wordSet("cwd workdir workingdirectory directory path")
)

// setCommand takes the command line from the arguments. More than one command, or an
// argument of unknown meaning, makes the question unclear.
func (q *Question) setCommand(given []argument) {
	var lines []string
	for _, v := range given {
		switch {
		case v.isName || ignoredKeys[v.key]:
		case commandKeys[v.key]:
			q.Unclear = q.Unclear || !v.isText || !v.top
			if !v.top && len(lines) > 0 {
				lines[len(lines)-1] += " " + v.text // the words of one command in a list
			} else {
				lines = append(lines, v.text)
			}
		case directoryKeys[v.key] && v.top:
			q.Unclear = q.Unclear || v.isText && outsideWorkspace(v.text)
		default:
			q.Unclear = true
		}
	}
	q.Unclear = q.Unclear || len(lines) > 1
	q.Command = strings.Join(lines, "\n")
}

// textKeys are arguments that hold content or search text, in which a path has no meaning.
var textKeys = wordSet("content contents text body oldstring newstring oldstr newstr oldtext newtext search replace replacement " +
	"filetext inserttext newsource description explanation reason title prompt query regex message instruction instructions diff patch input")

// classifyPaths sets Outside and Protected by the files that the arguments name.
func (q *Question) classifyPaths(given []argument) {
	named := false
	look := func(at string) {
		q.Outside = q.Outside || outsideWorkspace(at)
		q.Protected = q.Protected || isProtected(at)
	}
	for _, v := range given {
		switch {
		case !v.isText || v.text == "":
		case textKeys[v.key] || v.key == "pattern" && searchesText(q.Tool):
			if !takesPatch(q.Tool) && !patchKeys[v.key] {
				continue
			}
			for at, names := range patchPaths(v.text) {
				named = named || names
				look(at)
			}
		default:
			named = named || strings.Contains(v.key, "path") || strings.Contains(v.key, "file")
			look(v.text)
			// Every branch of a pattern is a path.
			for at := range strings.FieldsFuncSeq(v.text, func(c rune) bool { return strings.ContainsRune("{},()|\n", c) }) {
				look(at)
			}
		}
	}
	// A tool that writes and names no file may write anywhere.
	q.Outside = q.Outside || !named && PermissionOf(q.Tool) == PermissionWrites
}

// searchesText reports whether the pattern argument of a tool matches text, not paths.
func searchesText(tool string) bool {
	switch tool {
	case "Grep", "grep", "search_files", "searchFiles":
		return true
	}
	return false
}

// takesPatch reports whether a tool takes patches, which name files in their text.
func takesPatch(tool string) bool {
	tool = strings.ToLower(tool)
	return strings.Contains(tool, "patch") || strings.Contains(tool, "diff")
}

var (
	patchKeys  = wordSet("patch diff input")
	patchHeads = []string{"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ", "Index:", "***", "diff --git "}
)

// patchPaths yields every text in a patch that may be a path, and whether the patch
// certainly names a file there.
func patchPaths(patch string) iter.Seq2[string, bool] {
	return func(yield func(at string, names bool) bool) {
		for line := range strings.Lines(patch) {
			line = strings.TrimSpace(line)
			for _, head := range patchHeads {
				rest, ok := strings.CutPrefix(line, head)
				if !ok {
					continue
				}
				if strings.ContainsAny(rest, "\"\\") {
					rest = "/" // a quoted or escaped path could be any path
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

// normalizePath removes the quotes and brackets that tolerant tools ignore around a path,
// and converts backslashes to slashes.
func normalizePath(at string) string {
	return strings.ReplaceAll(strings.Trim(at, " \t\r\n\"'`<>@"), `\`, "/")
}

// outsideWorkspace reports whether a path may lead out of the workspace. Only the backend
// knows where the workspace is, so every absolute path counts as outside.
func outsideWorkspace(at string) bool {
	at = normalizePath(at)
	for name := range strings.SplitSeq(at, "/") {
		if strings.TrimRight(name, " ") == ".." {
			return true
		}
	}
	return path.IsAbs(at) || strings.HasPrefix(at, "~") || len(at) > 1 && at[1] == ':' || strings.Contains(at, ":/") ||
		strings.ContainsAny(at, "$%") || strings.ContainsFunc(at, isAmbiguousRune)
}

// protectedNames are files and directories that configure agents and tools, in lower case
// because many file systems ignore case.
var protectedNames = wordSet(".git .github .vscode .idea .roo .claude .codex .gemini .cursor .rooignore .roomodes .roorules " +
	".clinerules .rooprotected agents.md agent.md claude.md gemini.md")

// isProtected reports whether an element of a path is a protected name.
func isProtected(at string) bool {
	for name := range strings.SplitSeq(strings.ToLower(normalizePath(at)), "/") {
		name = strings.TrimRight(name, ". ")
		if protectedNames[name] || strings.HasPrefix(name, ".env") || strings.HasPrefix(name, "git~") {
			return true
		}
	}
	return strings.ContainsFunc(at, isAmbiguousRune)
}

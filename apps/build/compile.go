package build

import (
	"errors"
	"fmt"
	"html"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Bounds of a compilation.
const (
	// MaxPage bounds the document in bytes.
	MaxPage = 4 << 20
	// maxMessages bounds the errors that are returned.
	maxMessages = 20
)

// Source is the source of an app.
type Source struct {
	// Files has the content of all files by name, with slashes.
	Files map[string][]byte `json:"files"`
	// Entry is the file to begin with; empty means the first of [Entries] that exists.
	Entry string `json:"entry,omitempty"`
	// Title is that of the document.
	Title string `json:"title,omitempty"`
}

// Entries returns the names of entry files, in the order in which a compilation looks for one.
func Entries() []string {
	return []string{"src/main.ts", "src/main.tsx", "main.ts", "main.tsx", "src/index.ts", "src/index.html", "src/main.js", "main.js", "index.html"}
}

// Error lists what is wrong with a source.
type Error struct{ Messages []string }

// Error implements error.
func (e *Error) Error() string { return strings.Join(e.Messages, "\n") }

// errNoEntry means that there is nothing to compile.
var errNoEntry = errors.New("there is no file to begin with")

// Compile returns the document that a source makes. What is wrong with the source is an [*Error].
func Compile(s Source) ([]byte, error) {
	entry := s.Entry
	if entry == "" {
		i := slices.IndexFunc(Entries(), func(name string) bool { return s.Files[name] != nil })
		if i < 0 {
			return nil, &Error{[]string{errNoEntry.Error() + ": write src/main.ts, or name another one"}}
		}
		entry = Entries()[i]
	}
	if s.Files[entry] == nil {
		return nil, &Error{[]string{fmt.Sprintf("there is no file %q", entry)}}
	}
	var page []byte
	var err error
	if ext := path.Ext(entry); ext == ".html" || ext == ".htm" {
		page, err = inlineHTML(s.Files, entry)
	} else {
		page, err = scriptPage(s, entry)
	}
	if err == nil && len(page) > MaxPage {
		err = &Error{[]string{fmt.Sprintf("the page has %d bytes, at most %d are allowed", len(page), MaxPage)}}
	}
	return page, err
}

// scriptPage returns the document that runs a script.
func scriptPage(s Source, entry string) ([]byte, error) {
	out, err := bundle(s.Files, entry)
	if err != nil {
		return nil, err
	}
	title := s.Title
	if title == "" {
		title = "App"
	}
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	if out.css != "" {
		b.WriteString("<style>" + out.css + "</style>\n")
	}
	b.WriteString("<body>\n<div id=\"app\"></div>\n<script>" + out.js + "</script>\n</body>\n</html>\n")
	return []byte(b.String()), nil
}

// output is a script or a style with everything that it imports.
type output struct{ js, css string }

// bundle compiles a script or a style with all its imports.
func bundle(all map[string][]byte, entry string) (output, error) {
	r := api.Build(options(all, entry))
	if len(r.Errors) > 0 {
		return output{}, &Error{messages(r.Errors)}
	}
	var out output
	for _, f := range r.OutputFiles {
		switch path.Ext(strings.ReplaceAll(f.Path, `\`, "/")) {
		case ".js":
			out.js = endTag(string(f.Contents), "script")
		case ".css":
			out.css = endTag(string(f.Contents), "style")
		}
	}
	return out, nil
}

// endTag makes a text safe inside an element, which its end tag would end. The compiler escapes end
// tags in texts and templates; what is left can only be in comments and the like.
func endTag(text, element string) string {
	return strings.ReplaceAll(text, "</"+element, `<\/`+element)
}

// options are those of a compilation that can use nothing but the given files.
func options(all map[string][]byte, entry string) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Write: false, Outdir: "/out", AbsWorkingDir: "/",
		Format: api.FormatIIFE, Platform: api.PlatformBrowser, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		LogLevel: api.LogLevelSilent, LogLimit: maxMessages, TsconfigRaw: "{}",
		JSXFactory: "h", JSXFragment: "Fragment",
		Plugins: []api.Plugin{{Name: "files of the app", Setup: func(b api.PluginBuild) { confine(b, all) }}},
	}
}

// namespace is that of the given files. The compiler reads files of the disk in no other.
const namespace = "app"

// confine makes the compiler find and read only the given files.
func confine(b api.PluginBuild, all map[string][]byte) {
	b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if strings.HasPrefix(a.Path, "data:") || a.Kind == api.ResolveCSSURLToken && strings.HasPrefix(a.Path, "#") {
			return api.OnResolveResult{Path: a.Path, External: true}, nil
		}
		name, err := find(all, a)
		if err != nil {
			return api.OnResolveResult{}, err
		}
		return api.OnResolveResult{Path: name, Namespace: namespace}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		data, ok := all[a.Path]
		if a.Namespace != namespace || !ok {
			return api.OnLoadResult{}, fmt.Errorf("%q is not a file of the app", a.Path)
		}
		content := string(data)
		return api.OnLoadResult{Contents: &content, Loader: loaderOf(a.Path)}, nil
	})
}

// find returns the name of the file that an import means.
func find(all map[string][]byte, a api.OnResolveArgs) (string, error) {
	target := a.Path
	switch {
	case a.Kind == api.ResolveEntryPoint:
		return target, nil
	case strings.Contains(target, "://") || strings.HasPrefix(target, "//"):
		return "", fmt.Errorf("%q: apps have no network; write it into a file of the app", target)
	case strings.HasPrefix(target, "/"):
		target = strings.TrimPrefix(target, "/")
	case strings.HasPrefix(target, "./") || strings.HasPrefix(target, "../") || target == "." || target == "..":
		target = path.Join(path.Dir(a.Importer), target)
	case a.Kind == api.ResolveCSSImportRule || a.Kind == api.ResolveCSSURLToken:
		target = path.Join(path.Dir(a.Importer), target)
	default:
		return "", fmt.Errorf("%q: there are no packages; import files of the app, as in \"./chart\"", target)
	}
	for _, name := range candidates(path.Clean(target)) {
		if _, ok := all[name]; ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no file %q", target)
}

// candidates returns the names that an import may mean, the likeliest first.
func candidates(name string) []string {
	names := []string{name}
	if base, ok := strings.CutSuffix(name, ".js"); ok {
		names = append(names, base+".ts", base+".tsx")
	}
	for _, end := range []string{".ts", ".tsx", ".js", ".jsx", ".json", ".css", "/index.ts", "/index.tsx", "/index.js"} {
		names = append(names, name+end)
	}
	return names
}

// loaderOf returns how the compiler reads a file.
func loaderOf(name string) api.Loader {
	switch strings.ToLower(path.Ext(name)) {
	case ".ts", ".mts":
		return api.LoaderTS
	case ".tsx":
		return api.LoaderTSX
	case ".js", ".mjs":
		return api.LoaderJS
	case ".jsx":
		return api.LoaderJSX
	case ".json":
		return api.LoaderJSON
	case ".css":
		return api.LoaderCSS
	case ".txt", ".md", ".html", ".csv":
		return api.LoaderText
	default:
		return api.LoaderDataURL
	}
}

// messages returns errors of the compiler with their places.
func messages(all []api.Message) []string {
	out := make([]string, 0, len(all))
	for _, m := range all[:min(len(all), maxMessages)] {
		text := strings.TrimPrefix(m.Text, "[plugin files of the app] ")
		if l := m.Location; l != nil {
			text = fmt.Sprintf("%s:%d:%d: %s", strings.TrimPrefix(l.File, namespace+":"), l.Line, l.Column+1, text)
		}
		out = append(out, text)
	}
	return out
}

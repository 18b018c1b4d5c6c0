package build

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// inlineHTML returns a document with its scripts, styles and pictures inside. References to other
// addresses stay as they are: the frame of the app does not load them.
func inlineHTML(all map[string][]byte, entry string) ([]byte, error) {
	var out bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(all[entry]))
	skip := "" // the element whose content is replaced
	for {
		kind := z.Next()
		raw := slices.Clone(z.Raw())
		switch kind {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, &Error{[]string{fmt.Sprintf("%s: %v", entry, err)}}
			}
			return out.Bytes(), nil
		case html.StartTagToken, html.SelfClosingTagToken:
			replaced, element, err := inlineTag(all, entry, z.Token())
			if err != nil {
				return nil, err
			}
			if replaced != "" {
				out.WriteString(replaced)
				skip = element
				continue
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); skip != "" && string(name) == skip {
				skip = ""
				continue
			}
		}
		if skip == "" {
			out.Write(raw)
		}
	}
}

// inlineTag returns what replaces a tag that refers to a file of the app, or "". element is the
// element whose content and end tag are replaced with it, or "".
func inlineTag(all map[string][]byte, entry string, t html.Token) (replaced, element string, err error) {
	switch t.Data {
	case "script":
		name := localFile(all, entry, attribute(t, "src"))
		if name == "" {
			return "", "", missing(entry, attribute(t, "src"))
		}
		out, err := bundle(all, name)
		if err != nil {
			return "", "", err
		}
		if out.css != "" {
			out.css = "<style>" + out.css + "</style>"
		}
		// A module would run after the document was parsed, so that the script waits for that.
		return out.css + "<script>" + deferred(t, out.js) + "</script>", "script", nil
	case "link":
		name := localFile(all, entry, attribute(t, "href"))
		if name == "" || !strings.EqualFold(attribute(t, "rel"), "stylesheet") {
			return "", "", nil
		}
		out, err := bundle(all, name)
		return "<style>" + out.css + "</style>", "", err
	case "img", "source", "audio", "video":
		name := localFile(all, entry, attribute(t, "src"))
		if name == "" {
			return "", "", nil
		}
		for i, a := range t.Attr {
			if a.Key == "src" {
				t.Attr[i].Val = dataURL(name, all[name])
			}
		}
		return t.String(), "", nil
	}
	return "", "", nil
}

// deferred returns a script that runs when its tag says.
func deferred(t html.Token, js string) string {
	waits := slices.ContainsFunc(t.Attr, func(a html.Attribute) bool {
		return a.Key == "defer" || a.Key == "type" && strings.EqualFold(a.Val, "module")
	})
	if !waits {
		return js
	}
	return `addEventListener("DOMContentLoaded",()=>{` + js + "\n})"
}

// missing returns an error for a script that should be a file of the app and is not.
func missing(entry, src string) error {
	if src == "" {
		return nil // inline
	}
	if strings.Contains(src, "://") || strings.HasPrefix(src, "//") {
		return &Error{[]string{fmt.Sprintf("%s: the script %q: apps have no network; write it into a file of the app", entry, src)}}
	}
	return &Error{[]string{fmt.Sprintf("%s: there is no script %q", entry, src)}}
}

// localFile returns the name of the file of the app that an address means, or "".
func localFile(all map[string][]byte, entry, address string) string {
	address, _, _ = strings.Cut(address, "?")
	if address == "" || strings.Contains(address, ":") || strings.HasPrefix(address, "//") {
		return ""
	}
	name := path.Join(path.Dir(entry), address)
	if rest, ok := strings.CutPrefix(address, "/"); ok {
		name = path.Clean(rest)
	}
	if _, ok := all[name]; !ok {
		return ""
	}
	return name
}

func attribute(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// dataURL returns a file as an address.
func dataURL(name string, data []byte) string {
	media := http.DetectContentType(data)
	if strings.EqualFold(path.Ext(name), ".svg") {
		media = "image/svg+xml"
	}
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data)
}

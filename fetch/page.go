package fetch

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// maxHTML bounds the bytes of a page that are parsed.
const maxHTML = 2 << 20

// Page is an HTML page as text.
type Page struct {
	Title string
	Text  string
}

// IsHTML reports whether a content type is that of an HTML page.
func IsHTML(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// Decode returns text in UTF-8 whatever its encoding is, by the content type and the text itself.
func Decode(data []byte, contentType string) (string, error) {
	r, err := charset.NewReader(bytes.NewReader(data), contentType)
	if err != nil {
		return "", fmt.Errorf("decode a page: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("decode a page: %w", err)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// Text returns what a reader of a page sees, with headings, lists, tables and links in the manner of
// Markdown. base is the URL of the page.
func Text(data []byte, contentType, base string) (Page, error) {
	text, err := Decode(data[:min(len(data), maxHTML)], contentType)
	if err != nil {
		return Page{}, err
	}
	root, err := html.Parse(strings.NewReader(text)) // it bounds the depth of the tree
	if err != nil {
		return Page{}, fmt.Errorf("parse a page: %w", err)
	}
	w := writer{base: &url.URL{}}
	if u, err := url.Parse(base); err == nil {
		w.base = u
	}
	w.node(root)
	return Page{strings.Join(strings.Fields(w.title), " "), strings.TrimSpace(w.out.String())}, nil
}

// writer writes the text of a tree.
type writer struct {
	base  *url.URL
	out   strings.Builder
	title string
	// newlines counts the line ends at the end of out; space says that a space is due before the
	// next word.
	newlines     int
	space        bool
	preformatted int
}

// node writes a node and those below it.
func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
	case html.ElementNode:
		w.element(n)
	default:
		w.children(n)
	}
}

func (w *writer) children(n *html.Node) {
	for c := range n.ChildNodes() {
		w.node(c)
	}
}

// element writes an element.
func (w *writer) element(n *html.Node) {
	if isHidden(n) {
		return
	}
	switch n.DataAtom {
	case atom.Title:
		if w.title == "" && n.FirstChild != nil {
			w.title = n.FirstChild.Data
		}
	case atom.Br:
		w.breakLine(1)
	case atom.Hr:
		w.block(2, "---", n)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.block(2, strings.Repeat("#", int(n.Data[1]-'0'))+" ", n)
	case atom.Li:
		w.block(1, "- ", n)
	case atom.Pre, atom.Textarea:
		w.breakLine(2)
		w.preformatted++
		w.children(n)
		w.preformatted--
		w.breakLine(2)
	case atom.P, atom.Blockquote, atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Section, atom.Article, atom.Figure, atom.Header, atom.Footer, atom.Nav, atom.Main, atom.Form:
		w.block(2, "", n)
	case atom.Div, atom.Tr, atom.Dt, atom.Dd, atom.Option, atom.Address, atom.Figcaption, atom.Summary, atom.Details, atom.Caption:
		w.block(1, "", n)
	case atom.Td, atom.Th:
		w.children(n)
		if next := n.NextSibling; next != nil {
			w.text(" | ")
		}
	case atom.A:
		w.link(n)
	case atom.Img:
		if alt := strings.TrimSpace(attribute(n, "alt")); alt != "" {
			w.text("[picture: " + alt + "]")
		}
	default:
		w.children(n)
	}
}

// isHidden reports whether a reader does not see an element.
func isHidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Canvas:
		return true
	}
	style := strings.ReplaceAll(strings.ToLower(attribute(n, "style")), " ", "")
	return hasAttribute(n, "hidden") || attribute(n, "aria-hidden") == "true" ||
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// block writes an element on lines of its own, with lines blank lines around it.
func (w *writer) block(lines int, before string, n *html.Node) {
	w.breakLine(lines)
	if before != "" {
		w.raw(before)
	}
	w.children(n)
	w.breakLine(lines)
}

// link writes the text of a link and where it leads.
func (w *writer) link(n *html.Node) {
	start := w.out.Len()
	w.children(n)
	href := strings.TrimSpace(attribute(n, "href"))
	to, err := w.base.Parse(href)
	if err != nil || href == "" || href[0] == '#' || to.Scheme != "http" && to.Scheme != "https" || strings.TrimSpace(w.out.String()[start:]) == "" {
		return
	}
	w.raw(" (" + to.String() + ")")
}

// text writes text, with white space as a browser shows it.
func (w *writer) text(s string) {
	if w.preformatted > 0 {
		w.raw(s)
		return
	}
	for i, word := range strings.Fields(s) {
		if i > 0 || w.space || startsWithSpace(s) {
			w.blank()
		}
		w.space = false
		w.raw(word)
	}
	if s != "" && strings.TrimSpace(s[len(s)-1:]) == "" {
		w.space = true
	}
}

func startsWithSpace(s string) bool { return s != "" && strings.TrimSpace(s[:1]) == "" }

// blank writes a space unless a line begins here or there is one.
func (w *writer) blank() {
	if w.newlines == 0 && w.out.Len() > 0 && !strings.HasSuffix(w.out.String(), " ") {
		w.out.WriteByte(' ')
	}
}

// raw writes text as it is.
func (w *writer) raw(s string) {
	if s == "" {
		return
	}
	w.out.WriteString(s)
	w.newlines = len(s) - len(strings.TrimRight(s, "\n"))
	w.space = false
}

// breakLine ends the line, so that there are at least as many line ends.
func (w *writer) breakLine(lines int) {
	w.space = false
	if w.out.Len() == 0 {
		return
	}
	for ; w.newlines < lines; w.newlines++ {
		w.out.WriteByte('\n')
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return true
		}
	}
	return false
}

package fetch_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/korean"

	"github.com/everdesk/everdesk/fetch"
)

func TestPagesBecomeText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ page, want string }{
		"paragraphs":      {"<p>One\n  two</p><p>three</p>", "One two\n\nthree"},
		"headings":        {"<h1> A </h1><h2>B</h2>text", "# A\n\n## B\n\ntext"},
		"lists":           {"<ul><li> one</li><li>two <b>bold</b>ly</li></ul>", "- one\n- two boldly"},
		"links":           {`<a href="/x?y=1">here</a> and <a href="#top">top</a> and <a href="javascript:x()">do</a>`, "here (https://example.org/x?y=1) and top and do"},
		"tables":          {"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"},
		"preformatted":    {"<p>x</p><pre>a\n  b</pre>y", "x\n\na\n  b\n\ny"},
		"invisible":       {`<script>a</script><style>b</style><p hidden>c</p><p style="display: none">d</p><p aria-hidden=true>e</p><template>f</template>g`, "g"},
		"pictures":        {`see <img src=x alt="a cat"> and <img src=y>`, "see [picture: a cat] and"},
		"inline elements": {"a<b>b</b> c<i> d</i><br>e", "ab c d\ne"},
		"nothing":         {"", ""},
	} {
		got, err := fetch.Text([]byte("<html><body>"+tt.page), "text/html; charset=utf-8", "https://example.org/dir/")
		if err != nil || got.Text != tt.want {
			t.Errorf("%s becomes %q (%v), want %q", name, got.Text, err, tt.want)
		}
	}
}

func TestEncodingsOfPages(t *testing.T) {
	t.Parallel()
	euc, err := korean.EUCKR.NewEncoder().String("<title>안녕</title><p>세계</p>")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ page, kind string }{
		"by the type": {euc, "text/html; charset=euc-kr"},
		"by the page": {`<meta charset="euc-kr">` + euc, "text/html"},
		"UTF-8":       {"<title>안녕</title><p>세계</p>", "text/html"},
	} {
		if got, err := fetch.Text([]byte(tt.page), tt.kind, ""); err != nil || got.Title != "안녕" || got.Text != "세계" {
			t.Errorf("%s gives %+v and %v, want the title 안녕 and the text 세계", name, got, err)
		}
	}
}

// A page that is nested too deeply is an error, not a stack overflow.
func TestDeepPages(t *testing.T) {
	t.Parallel()
	if got, err := fetch.Text([]byte(strings.Repeat("<div>", 100_000)+"x"), "text/html", ""); err == nil {
		t.Errorf("got %.100q, want an error", got.Text)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("<title>a</title><p>b<a href='c'>d</a>"), "text/html; charset=utf-8")
	f.Add([]byte("<table><tr><td>1<td>2<pre>\n x"), "text/html; charset=euc-kr")
	f.Add([]byte{0xff, 0xfe, '<', 0}, "text/html")
	f.Fuzz(func(t *testing.T, page []byte, kind string) {
		got, err := fetch.Text(page, kind, "https://example.org/")
		if err != nil {
			return
		}
		if !utf8.ValidString(got.Text) || strings.Contains(got.Title, "\n") || got.Text != strings.TrimSpace(got.Text) {
			t.Errorf("got %+q, want valid trimmed text and a title in one line", got)
		}
	})
}

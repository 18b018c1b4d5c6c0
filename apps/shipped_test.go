package apps_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/apps"
)

// Patterns of what a page needs from elsewhere, which its sandbox would refuse.
var (
	elsewhere = regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?(https?:)?//|@import|url\(\s*["']?http|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\s*\(|localStorage|sessionStorage|indexedDB|document\.cookie|\balert\(|\bconfirm\(|innerHTML|<form`)
	entry     = regexp.MustCompile(`(?m)^\s+(?:state: \{ )?(\w+): \{ description: "`)
	variable  = regexp.MustCompile(`var\((--[\w-]+)\)`)
)

func TestTheMarketHasTheAppsThatTheDocsName(t *testing.T) {
	t.Parallel()
	market, err := apps.NewMarket("")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"calculator", "calendar", "chart-studio", "csv-explorer", "image-viewer", "kanban", "markdown-editor", "notes", "timer", "todo"} {
		b, err := market.Get(id)
		if err != nil {
			t.Errorf("Get(%s): %v, want an app", id, err)
			continue
		}
		m := b.Manifest
		if !m.AppProtocol || m.Description == "" || m.Version == "" || m.IconFile() == "" || m.Width < 320 || m.Height < 240 {
			t.Errorf("%s: the manifest is %+v, want the app protocol, a description, a version, an icon and a size", id, m)
		}
	}
}

// Every app works without network, and its text for agents names all that agents can do with it.
func TestAppsOfTheHubAreWholeAndExplainThemselves(t *testing.T) {
	t.Parallel()
	market, err := apps.NewMarket("")
	if err != nil {
		t.Fatal(err)
	}
	offers, err := market.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offers {
		t.Run(o.ID, func(t *testing.T) {
			t.Parallel()
			b, err := market.Get(o.ID)
			if err != nil {
				t.Fatal(err)
			}
			page := string(b.Page())
			if got := elsewhere.FindAllString(page, -1); len(got) > 0 {
				t.Errorf("the page has %q, which does not work in the sandbox", got)
			}
			if want := `appId: "` + o.ID + `"`; !strings.Contains(page, want) {
				t.Errorf("the page does not register with %s", want)
			}
			checkSkill(t, b.Skill(), page)
			for _, v := range variable.FindAllStringSubmatch(page, -1) {
				if !strings.Contains(page, v[1]+":") {
					t.Errorf("the page uses %s, want it to be set", v[1])
				}
			}
			checkIcon(t, b.Files[b.Manifest.IconFile()])
		})
	}
}

// checkSkill checks that a text for agents names the states and commands that a page registers.
func checkSkill(tb testing.TB, skill, page string) {
	tb.Helper()
	_, registered, ok := strings.Cut(page, "yaar.app.register({")
	found := entry.FindAllStringSubmatch(registered, -1)
	if !ok || len(found) < 2 {
		tb.Fatalf("the page registers %d states and commands, want two at least", len(found))
	}
	for _, f := range found {
		if !strings.Contains(skill, "`"+f[1]+"`") {
			tb.Errorf("SKILL.md does not name `%s`, want every state and command", f[1])
		}
	}
}

// checkIcon checks that an icon is a picture without scripts and references.
func checkIcon(tb testing.TB, icon []byte) {
	tb.Helper()
	allowed := []string{"svg", "rect", "path", "circle", "g", "line", "polyline"}
	for d := xml.NewDecoder(bytes.NewReader(icon)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatalf("the icon is not XML: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && !slices.Contains(allowed, start.Name.Local) {
			tb.Errorf("the icon has the element %s, want only %q", start.Name.Local, allowed)
		}
	}
}

package apps_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
)

func TestIDsAreNamesOfFoldersOnEverySystem(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "counter", "to-do", "csv-explorer-2", strings.Repeat("a", 64)} {
		if err := apps.CheckID(good); err != nil {
			t.Errorf("CheckID(%q): got %v, want nil", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "-a", "a-", "a--b", "A", "ä", "a/b", `a\b`, "a b", "con", "nul", "com1", "a\x00", strings.Repeat("a", 65), "current/..", "%2e%2e"} {
		if err := apps.CheckID(bad); !errors.Is(err, apps.ErrID) {
			t.Errorf("CheckID(%q): got %v, want ErrID", bad, err)
		}
	}
}

func TestAManifestIsReadOrRefusedWithTheField(t *testing.T) {
	t.Parallel()
	m, err := apps.ParseManifest([]byte(`{"name":"To do","icon":"✅","variant":"widget","unknown":1,"fileAssociations":[{"extensions":[".csv"],"command":"open","paramKey":"text"}]}`))
	if err != nil || m.Name != "To do" || m.IconFile() != "" || len(m.FileAssociations) != 1 {
		t.Errorf("valid manifest: got %+v, %v, want the fields and no error", m, err)
	}
	for name, c := range map[string]struct{ json, want string }{
		"no JSON":           {`{`, "unexpected EOF"},
		"two values":        {`{"name":"a"} {}`, "more than one value"},
		"no name":           {`{"description":"x"}`, "name"},
		"empty name":        {`{"name":"  "}`, "name"},
		"long name":         {`{"name":"` + strings.Repeat("a", 101) + `"}`, "name"},
		"control character": {`{"name":"a\u0007"}`, "control character"},
		"icon outside":      {`{"name":"a","icon":"../x.png"}`, "icon"},
		"long icon":         {`{"name":"a","icon":"not an emoji"}`, "icon"},
		"variant":           {`{"name":"a","variant":"huge"}`, "variant"},
		"dockEdge":          {`{"name":"a","dockEdge":"left"}`, "dockEdge"},
		"width":             {`{"name":"a","width":-1}`, "width"},
		"association":       {`{"name":"a","fileAssociations":[{"extensions":[]}]}`, "fileAssociations[0]"},
		"too large":         {`{"name":"a","x":"` + strings.Repeat("a", 40<<10) + `"}`, "bytes"},
		"wrong type":        {`{"name":5}`, "name"},
	} {
		if _, err := apps.ParseManifest([]byte(c.json)); !errors.Is(err, apps.ErrManifest) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want ErrManifest with %q", name, err, c.want)
		}
	}
}

func TestAFolderWithLinksOddNamesOrTooMuchIsNoApp(t *testing.T) {
	t.Parallel()
	manifest := &fstest.MapFile{Data: []byte(`{"name":"a"}`)}
	big := &fstest.MapFile{Data: make([]byte, apps.MaxBytes)}
	many := fstest.MapFS{"app.json": manifest}
	for i := range apps.MaxFiles {
		many["f"+strings.Repeat("x", i)] = &fstest.MapFile{}
	}
	for name, c := range map[string]struct {
		folder fstest.MapFS
		want   error
	}{
		"good":              {fstest.MapFS{"app.json": manifest, "src/main.ts": {Data: []byte("1")}}, nil},
		"no manifest":       {fstest.MapFS{"index.html": manifest}, apps.ErrManifest},
		"link":              {fstest.MapFS{"app.json": manifest, "index.html": {Mode: 0o777 | 1<<27, Data: []byte("/etc/passwd")}}, files.ErrName},
		"odd name":          {fstest.MapFS{"app.json": manifest, `a\b`: {}}, files.ErrName},
		"device":            {fstest.MapFS{"app.json": manifest, "nul.txt": {}}, files.ErrName},
		"same name in case": {fstest.MapFS{"app.json": manifest, "a.ts": {}, "A.ts": {}}, files.ErrName},
		"same when folded":  {fstest.MapFS{"app.json": manifest, "s.ts": {}, "ſ.ts": {}}, files.ErrName},
		"file and folder":   {fstest.MapFS{"app.json": manifest, "A": {}, "a/b": {}}, files.ErrName},
		"long name":         {fstest.MapFS{"app.json": manifest, strings.Repeat("x", 256): {}}, files.ErrName},
		"pipe":              {fstest.MapFS{"app.json": manifest, "p": {Mode: fs.ModeNamedPipe}}, files.ErrName},
		"too large":         {fstest.MapFS{"app.json": manifest, "a.bin": big}, apps.ErrTooLarge},
		"too many":          {many, apps.ErrFull},
		"icon missing":      {fstest.MapFS{"app.json": {Data: []byte(`{"name":"a","icon":"icon.png"}`)}}, apps.ErrManifest},
	} {
		if _, err := apps.ReadFolder(c.folder); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestEveryAppOfTheHubCanBeInstalled(t *testing.T) {
	t.Parallel()
	market, err := apps.NewMarket("")
	if err != nil {
		t.Fatal(err)
	}
	offers, err := market.List()
	if err != nil || len(offers) == 0 {
		t.Fatalf("List: got %d apps and %v, want some and no error", len(offers), err)
	}
	for _, o := range offers {
		b, err := market.Get(o.ID)
		if err != nil {
			t.Errorf("Get(%s): %v", o.ID, err)
			continue
		}
		if b.Page() == nil && b.Files["src/main.ts"] == nil {
			t.Errorf("%s: got neither index.html nor src/main.ts, want one", o.ID)
		}
		if b.Manifest.AppProtocol && !o.HasSkill {
			t.Errorf("%s: got no SKILL.md, want one that says what agents can do", o.ID)
		}
	}
}

func TestAFolderOfTheOperatorReplacesAppsOfTheHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "counter/app.json", `{"name":"My counter"}`)
	write(t, dir, "counter/index.html", "mine")
	write(t, dir, "broken/app.json", `{`)
	write(t, dir, "Odd Name/app.json", `{"name":"odd"}`)
	market, err := apps.NewMarket(dir)
	if err != nil {
		t.Fatal(err)
	}
	offers, err := market.List()
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("List: got %v, want an error about broken", err)
	}
	names := map[string]string{}
	for _, o := range offers {
		names[o.ID] = o.Name
	}
	if names["counter"] != "My counter" || names["Odd Name"] != "" {
		t.Errorf("names: got %q, want the operator's counter and no odd name", names)
	}
	if b, err := market.Get("counter"); err != nil || string(b.Page()) != "mine" {
		t.Errorf("Get: got %q, %v, want the operator's page", b.Page(), err)
	}
	for _, id := range []string{"broken", "none", "../counter", ""} {
		if _, err := market.Get(id); err == nil {
			t.Errorf("Get(%q): got nil, want an error", id)
		}
	}
	if _, err := apps.NewMarket(dir + "/missing"); err == nil {
		t.Error("NewMarket of a missing folder: got nil, want an error")
	}
}

package tools_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// compiler compiles in the process of the test.
type compiler struct{}

func (compiler) Compile(_ context.Context, s build.Source) ([]byte, error) { return build.Compile(s) }

func (compiler) Check(_ context.Context, s build.Source) (build.Report, error) {
	_, err := build.Compile(s)
	if err != nil {
		return build.Report{Errors: []string{err.Error()}}, nil //nolint:nilerr // it is the result
	}
	return build.Report{}, nil
}

func newApps(tb testing.TB) *tools.Apps {
	tb.Helper()
	folder, err := files.OpenFolder(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = folder.Close() })
	market, err := apps.NewMarket("")
	if err != nil {
		tb.Fatal(err)
	}
	return &tools.Apps{Store: apps.New(folder, nil), Market: market, Compiler: compiler{}}
}

var sandboxID = regexp.MustCompile(`sandbox ([0-9]+)`)

// sandbox makes a sandbox with the file src/main.ts and returns its id.
func (b *bench) sandbox(content string) string {
	b.t.Helper()
	input, err := json.Marshal(map[string]string{"path": "src/main.ts", "content": content})
	if err != nil {
		b.t.Fatal(err)
	}
	r := b.callAs(b.worker(), "dev_write_ts", string(input))
	m := sandboxID.FindStringSubmatch(r.Text)
	if r.IsError || m == nil {
		b.t.Fatalf("dev_write_ts gives %+v, want the id of a sandbox", r)
	}
	return m[1]
}

// in replaces SANDBOX in an input.
func in(sandbox, input string) string { return strings.ReplaceAll(input, "SANDBOX", sandbox) }

const counterSource = `const n: number = 1; document.title = String(n); yaar.app.register({appId: "counter", name: "Counter"});`

func TestAnAppIsWrittenCompiledDeployedAndChanged(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	id := b.sandbox(counterSource)
	for _, step := range []struct{ tool, input, want string }{
		{"dev_read_ts", `{"sandboxId":"SANDBOX"}`, `["src/main.ts"]`},
		{"dev_read_ts", `{"sandboxId":"SANDBOX","path":"src/main.ts"}`, counterSource},
		{"dev_apply_diff_ts", `{"sandboxId":"SANDBOX","path":"src/main.ts","old_string":"= 1;","new_string":"= 77;"}`, "Changed"},
		{"dev_compile", `{"sandbox":"SANDBOX","title":"Counter"}`, "/api/sandbox/SANDBOX/dist/index.html"},
		{"dev_typecheck", `{"sandbox":"SANDBOX"}`, "no tsc"},
		{"dev_compile_component", `{"sandboxId":"SANDBOX","filename":"src/form.json","components":[{"type":"text","content":"hi"}],"cols":2}`, "Wrote 1 components"},
		{"dev_deploy", `{"sandbox":"SANDBOX","appId":"my-counter","icon":"🔢","description":"counts","skill":"# Use it","version":"1"}`, "/api/apps/my-counter/index.html"},
		{"apps_list", `{}`, `"name":"My counter"`},
		{"apps_list", `{}`, `"appProtocol":true`},
		{"apps_load_skill", `{"appId":"my-counter"}`, "# Use it"},
		{"apps_write_config", `{"appId":"my-counter","filename":"count.json","content":{"count":3}}`, "Wrote 11 bytes"},
		{"apps_read_config", `{"appId":"my-counter"}`, `["count.json"]`},
		{"apps_read_config", `{"appId":"my-counter","filename":"count.json"}`, `{"count":3}`},
		{"dev_write_json", `{"appId":"my-counter","filename":"app.json","content":{"name":"Renamed"}}`, "Wrote"},
		{"apps_list", `{}`, `"name":"Renamed"`},
		{"apps_set_app_badge", `{"appId":"my-counter","count":5}`, "shows 5"},
	} {
		r := b.callAs(b.worker(), step.tool, in(id, step.input))
		if r.IsError || !strings.Contains(r.Text, in(id, step.want)) {
			t.Errorf("%s %s gives %+v, want %q", step.tool, step.input, r, step.want)
		}
	}
	page, err := b.apps.Store.File(t.Context(), "ann", "my-counter", "index.html")
	if err != nil || !strings.Contains(string(page), "77") {
		t.Errorf("the page is %s, %v, want the changed source in it", page, err)
	}
	if badge, ok := b.desktop.actions[len(b.desktop.actions)-1].(wire.AppBadge); !ok || badge.Count != 5 {
		t.Errorf("actions are %v, want a badge", b.desktop.actions)
	}
	refreshed := 0
	for _, m := range b.desktop.submitted {
		if e, ok := m.Data.(wire.Emit); ok && len(e.Actions) == 1 && e.Actions[0] == (wire.RefreshApps{}) {
			refreshed++
		}
	}
	if refreshed != 3 {
		t.Errorf("the desktop was told of apps %d times, want 3: deployed, data, renamed", refreshed)
	}
	r := b.callAs(b.worker(), "dev_clone", `{"appId":"my-counter"}`)
	m := sandboxID.FindStringSubmatch(r.Text)
	if r.IsError || m == nil || !strings.Contains(r.Text, "src/main.ts") || strings.Contains(r.Text, "index.html") {
		t.Fatalf("dev_clone gives %+v, want a sandbox with the source only", r)
	}
	b.mustAs(b.worker(), "dev_deploy", `{"sandbox":"`+m[1]+`","appId":"my-counter","keepSource":false,"hidden":true}`)
	if got, err := b.apps.Store.Get(t.Context(), "ann", "my-counter"); err != nil || !got.Manifest.Hidden || got.Files["src/main.ts"] != nil || got.Skill() != "# Use it" || got.Manifest.Name != "Renamed" {
		t.Errorf("deployed %+v, %v, want a hidden app without source, with its name and skill", got.Manifest, err)
	}
	if data, err := b.apps.Store.ReadData(t.Context(), "ann", "my-counter", "count.json"); err != nil || string(data) != `{"count":3}` {
		t.Errorf("data is %s, %v, want it kept", data, err)
	}
}

func TestMarketAppsAreInstalledAndDeleted(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	w := b.worker()
	if r := b.callAs(w, "apps_market_list", `{}`); r.IsError || !strings.Contains(r.Text, `"id":"counter"`) || strings.Contains(r.Text, `"installed":true`) {
		t.Errorf("apps_market_list gives %+v, want counter, not installed", r)
	}
	b.mustAs(w, "apps_market_get", `{"appId":"counter"}`)
	if r := b.callAs(w, "apps_market_list", `{}`); !strings.Contains(r.Text, `"installed":true`) {
		t.Errorf("apps_market_list gives %+v, want counter installed", r)
	}
	if r, err := b.exec.Brief(t.Context(), w); err != nil || !strings.Contains(r.Whole(), "apps: counter (Counter)") {
		t.Errorf("the system prompt is %s, %v, want the app", r.Whole(), err)
	}
	b.desktop.confirm = no("")
	if r := b.callAs(w, "apps_market_delete", `{"appId":"counter"}`); !r.IsError || !strings.Contains(r.Text, "said no") {
		t.Errorf("apps_market_delete gives %+v, want a denial", r)
	}
	if q := b.desktop.confirms[0]; !strings.Contains(q.Message, "Counter") || !strings.Contains(q.Message, "data") {
		t.Errorf("the question is %q, want the app and its data", q.Message)
	}
	b.desktop.confirm = yes("")
	b.mustAs(w, "apps_market_delete", `{"appId":"counter"}`)
	if r := b.callAs(w, "apps_list", `{}`); r.Text != "[]" {
		t.Errorf("apps_list gives %+v, want none", r)
	}
}

func TestWrongCallsOfAppsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	id := b.sandbox("const x: = 1")
	twice := b.sandbox("a; a")
	b.mustAs(b.worker(), "apps_market_get", `{"appId":"counter"}`)
	for _, c := range []struct{ tool, input, want string }{
		{"apps_load_skill", `{"appId":"none"}`, "the apps are: counter"},
		{"apps_load_skill", `{"appId":"../x"}`, "nvalid app id"},
		{"apps_load_skill", `{}`, "appId"},
		{"apps_read_config", `{"appId":"none"}`, "no app"},
		{"apps_read_config", `{"appId":"counter","filename":"x.json"}`, "no file"},
		{"apps_read_config", `{"appId":"counter","filename":"../current"}`, "nvalid file name"},
		{"apps_write_config", `{"appId":"counter","filename":"/etc/x","content":"x"}`, "nvalid file name"},
		{"apps_write_config", `{"appId":"counter","filename":"x"}`, "content"},
		{"apps_write_config", `{"appId":"counter","filename":"x","content":5}`, "content"},
		{"apps_write_config", `{"appId":"none","filename":"x","content":"x"}`, "no app"},
		{"apps_write_config", `{"appId":"counter","filename":"x","content":"` + strings.Repeat("x", apps.MaxDataFile+1) + `"}`, "bytes"},
		{"apps_set_app_badge", `{"appId":"A B","count":1}`, "nvalid app id"},
		{"apps_set_app_badge", `{"appId":"counter","count":-1}`, "count"},
		{"apps_market_get", `{"appId":"none"}`, "no app"},
		{"apps_market_get", `{"appId":"../../etc"}`, "nvalid app id"},
		{"apps_market_delete", `{"appId":"none"}`, "the apps are: counter"},
		{"dev_read_ts", `{"sandboxId":"1"}`, "no sandbox"},
		{"dev_read_ts", `{"sandboxId":"../apps"}`, "no sandbox"},
		{"dev_read_ts", `{"sandboxId":"SANDBOX","path":"b.ts"}`, "The files are: src/main.ts"},
		{"dev_write_ts", `{"path":"../x","content":""}`, "nvalid file name"},
		{"dev_write_ts", `{"path":"a.ts","content":"","sandboxId":"99"}`, "no sandbox"},
		{"dev_write_ts", `{"path":"a.ts"}`, "content"},
		{"dev_apply_diff_ts", `{"sandboxId":"SANDBOX","path":"b.ts","old_string":"a","new_string":"b"}`, "no \"b.ts\""},
		{"dev_apply_diff_ts", `{"sandboxId":"SANDBOX","path":"src/main.ts","old_string":"zzz","new_string":"b"}`, "0 times"},
		{"dev_apply_diff_ts", `{"sandboxId":"` + twice + `","path":"src/main.ts","old_string":"a","new_string":"b"}`, "2 times"},
		{"dev_apply_diff_ts", `{"sandboxId":"SANDBOX","path":"src/main.ts","old_string":"","new_string":"b"}`, "old_string"},
		{"dev_compile", `{"sandbox":"SANDBOX"}`, "src/main.ts:1:10"},
		{"dev_compile", `{"sandbox":"SANDBOX","entry":"x.ts"}`, "no file"},
		{"dev_compile", `{"sandbox":"7"}`, "no sandbox"},
		{"dev_compile_component", `{"sandboxId":"SANDBOX","filename":"a.ts","components":[{"type":"text","content":"x"}]}`, ".json"},
		{"dev_compile_component", `{"sandboxId":"SANDBOX","filename":"a.json","components":[]}`, "components"},
		{"dev_compile_component", `{"sandboxId":"SANDBOX","filename":"a.json","components":[{"type":"rocket"}]}`, "components"},
		{"dev_typecheck", `{"sandbox":"SANDBOX"}`, "src/main.ts:1:10"},
		{"dev_typecheck", `{"sandbox":"x"}`, "no sandbox"},
		{"dev_deploy", `{"sandbox":"SANDBOX","appId":"a"}`, "src/main.ts:1:10"},
		{"dev_deploy", `{"sandbox":"SANDBOX","appId":"A"}`, "nvalid app id"},
		{"dev_deploy", `{"sandbox":"SANDBOX","appId":"a","icon":"../x.png"}`, "icon"},
		{"dev_deploy", `{"sandbox":"` + twice + `","appId":"a","icon":"none.png"}`, "none.png"},
		{"dev_deploy", `{"sandbox":"SANDBOX","appId":"a","variant":"huge"}`, "variant"},
		{"dev_deploy", `{"sandbox":"8","appId":"a"}`, "no sandbox"},
		{"dev_clone", `{"appId":"none"}`, "no app"},
		{"dev_write_json", `{"appId":"counter","filename":"a.html","content":{}}`, ".json"},
		{"dev_write_json", `{"appId":"counter","filename":"a.json","content":"{"}`, "want JSON"},
		{"dev_write_json", `{"appId":"counter","filename":"app.json","content":{"name":""}}`, "name"},
		{"dev_write_json", `{"appId":"none","filename":"a.json","content":{}}`, "no app"},
	} {
		r := b.callAs(b.worker(), c.tool, in(id, c.input))
		if !r.IsError || !strings.Contains(r.Text, c.want) || len(r.Text) > 3000 {
			t.Errorf("%s %.100s: got %.300q, want an error with %q", c.tool, c.input, r.Text, c.want)
		}
	}
	if all, err := b.apps.Store.List(t.Context(), "ann"); err != nil || len(all) != 1 {
		t.Errorf("apps are %v, %v, want only the counter", all, err)
	}
}

func TestGuestsCannotChangeOwnersApps(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.mustAs(b.worker(), "apps_market_get", `{"appId":"counter"}`)
	guest := b.worker()
	guest.Guest = true
	for tool, input := range map[string]string{
		"apps_read_config": `{"appId":"counter"}`, "apps_write_config": `{"appId":"counter","filename":"a","content":"b"}`, "apps_market_get": `{"appId":"counter"}`,
		"apps_market_delete": `{"appId":"counter"}`, "dev_write_ts": `{"path":"a.ts","content":""}`, "dev_deploy": `{"sandbox":"1","appId":"a"}`, "dev_clone": `{"appId":"counter"}`,
	} {
		if r := b.callAs(guest, tool, input); !r.IsError || !strings.Contains(r.Text, "owner") {
			t.Errorf("%s of a guest gives %+v, want an error that names the owner", tool, r)
		}
	}
	b.mustAs(guest, "apps_list", `{}`)
}

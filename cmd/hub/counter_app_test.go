package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/internal/redistest"
)

// getPage sends a GET request and returns the status and the body.
func getPage(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// "Make me a counter app" ends in an app that is there after the hub was killed, in another session
// and on another replica, with the data that an agent wrote.
func TestACounterAppIsOnAllDesktopsOfItsUser(t *testing.T) {
	t.Parallel()
	demo := testProviders(t)[0]
	redis, files := redistest.Standalone(t).URL(), t.TempDir()
	one := serveProcess(t, demo, "--store", redis, "--replica-id", "one", "--files-dir", files, "--lease", "2s")
	two := serveProcess(t, demo, "--store", redis, "--replica-id", "two", "--files-dir", files, "--lease", "2s")
	_, x := openSession(t, one)
	source, err := json.Marshal(`import { start } from "./start"; yaar.app.register({ appId: "counter", name: "Counter", state: { count: { handler: () => start } } });`)
	if err != nil {
		t.Fatal(err)
	}
	x.say(t, fmt.Sprintf(`/task app Make me a counter app; /call dev_write_ts {"path":"src/main.ts","content":%s}`, source))
	sandbox := x.until(t, `dev:write_ts is done: Wrote \d+ bytes to .src/main.ts. of sandbox (\d+)`)[0]
	x.until(t, `main: done in `)
	x.say(t, `/task app Compile it; /call dev_compile {"sandbox":"`+sandbox+`"}`)
	x.until(t, `dev:compile did not work: The source has errors`, `main: done in `)
	x.say(t, `/task app Write the rest; /call dev_write_ts {"sandboxId":"`+sandbox+`","path":"src/start.ts","content":"export const start: number = 4711"}`+
		`; /call dev_deploy {"sandbox":"`+sandbox+`","appId":"counter","icon":"🔢","skill":"State: count."}`+
		`; /call apps_write_config {"appId":"counter","filename":"count.json","content":{"count":3}}`)
	x.until(t, `dev:deploy is done: The app counter is installed`, `apps:write_config is done`, `main: done in `)

	one.kill()
	for name, hub := range map[string]*server{"another replica": two, "after a restart": one} {
		if hub == one {
			one.again(t)
		}
		if code, body := getPage(t, hub.url+"/api/apps"); code != http.StatusOK || !strings.Contains(body, `"id":"counter"`) || !strings.Contains(body, `"hasSkill":true`) {
			t.Errorf("%s: apps: got %d %s, want the counter", name, code, body)
		}
		session, y := openSession(t, hub)
		base := hub.url + "/api/sessions/" + string(session)
		if code, body := getPage(t, base+"/apps/counter/index.html"); code != http.StatusOK || !strings.Contains(body, "4711") {
			t.Errorf("%s: page: got %d %.200s, want the compiled source", name, code, body)
		}
		if code, body := getPage(t, base+"/app-data/counter/count.json"); code != http.StatusOK || body != `{"count":3}` {
			t.Errorf("%s: data: got %d %s, want the count", name, code, body)
		}
		y.say(t, `/task app Look; /call apps_load_skill {"appId":"counter"}`)
		y.until(t, `apps:load_skill is done: .*`, `main: done in `)
		y.say(t, `/call window_create {"windowId":"counter","title":"Counter","content":{"renderer":"iframe","content":"/api/apps/counter/index.html"}}`)
		y.until(t, `window:create is done: Opened window`)
	}
}

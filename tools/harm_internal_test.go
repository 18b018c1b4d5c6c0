package tools

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A todo of a plan needs no approval because of its profile, since each of its tools that leaves the hub, deletes
// something or runs code asks for itself. The few that do not ask for each call have another bound, which is listed here.
func TestToolsOfProfilesAskForThemselves(t *testing.T) {
	t.Parallel()
	const (
		domains  = "reaches only domains that the user has allowed"
		saved    = "a checkpoint of the files is saved before"
		undone   = "the user can undo it for a day"
		app      = "an app of the user in its sandbox, which has no network"
		versions = "keeps the data of the app"
		icons    = "only an icon"
	)
	everywhere := map[string]string{"window:app_command": app, "storage:write": saved, "storage:delete": undone}
	web := map[string]string{"system:http_get": domains, "system:http_post": domains}
	pages := map[string]string{"browser:open": domains, "browser:click": domains, "browser:type": domains, "browser:press": domains}
	apps := map[string]string{
		"apps:write_config": app, "apps:market_get": versions, "dev:deploy": versions, "dev:write_json": app,
		"system:update_shortcut": icons, "system:remove_shortcut": icons,
	}
	r := newRegistry(Config{
		Web: struct{ Web }{}, Scripts: struct{ Scripts }{}, Browser: Browser{Pages: struct{ Pages }{}}, Notebooks: true,
		Env: Env{Names: []string{"TZ"}}, Apps: &Apps{},
	})
	for profile, lists := range map[string][]map[string]string{
		ProfileDefault: {everywhere, web, pages, apps}, ProfileWeb: {everywhere, web, pages}, ProfileCode: {everywhere}, ProfileApp: {everywhere, web, apps},
	} {
		want := map[string]string{}
		for _, l := range lists {
			maps.Copy(want, l)
		}
		var got []string
		for i := range r.all {
			tool := &r.all[i]
			if !slices.Contains(tool.in, profile) {
				continue
			}
			if r.canLeave(tool) && tool.use.ask == nil {
				got = append(got, tool.name)
			}
			if h := r.annotation(tool).hints; h.Destructive && h.OpenWorld && !r.canLeave(tool) && tool.name != "window:create" { // pages in windows have no network
				t.Errorf("%s: %s can leave the hub without being in the group that asks after reading outside data", profile, tool.name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), got); diff != "" {
			t.Errorf("%s: tools that can do harm and do not ask for each call (-want +got):\n%s", profile, diff)
		}
	}
	if all := Profiles(); len(all) != 4 {
		t.Errorf("the profiles of task agents are %v, want a list of tools for each in this test", all)
	}
}

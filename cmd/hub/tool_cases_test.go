package main

// toolCase is a call with good input, and what its result contains. Names in braces stand for what earlier results had.
type toolCase struct {
	tool, input, want string
	// keep is an expression whose first group is kept under the name as.
	keep, as string
}

// goodToolCases calls every tool of the hub once or more, in an order in which each finds what it needs.
func goodToolCases() []toolCase {
	return []toolCase{
		{tool: "window_create", input: `{"windowId":"note","title":"Note","content":{"renderer":"markdown","content":"# Hi"}}`, want: `window "note"`},
		{tool: "window_create_component", input: `{"windowId":"form","title":"Form","components":[{"type":"button","label":"OK","action":"ok"}]}`, want: `window "form"`},
		{tool: "window_update", input: `{"windowId":"note","operation":"append","content":"more"}`, want: `window "note"`},
		{tool: "window_update_component", input: `{"windowId":"form","components":[{"type":"text","content":"x"}]}`, want: `window "form"`},
		{tool: "window_move", input: `{"windowId":"note","x":40,"width":520}`, want: "Moved"},
		{tool: "window_lock", input: `{"windowId":"note"}`, want: "Locked"},
		{tool: "window_list", input: `{}`, want: `"note"`},
		{tool: "window_view", input: `{"windowId":"note"}`, want: "# Himore"},
		{tool: "window_close", input: `{"windowId":"form"}`, want: "Closed"},
		{tool: "window_show_notification", input: `{"id":"n","title":"T","body":"B"}`, want: `"n"`},
		{tool: "window_dismiss_notification", input: `{"id":"n"}`, want: `"n"`},
		{tool: "window_show_toast", input: `{"id":"t","message":"M"}`, want: `"t"`},
		{tool: "window_dismiss_toast", input: `{"id":"t"}`, want: `"t"`},

		{tool: "storage_write", input: `{"path":"a/b.txt","content":"text of a file"}`, want: "14 bytes"},
		{tool: "storage_read", input: `{"path":"a/b.txt"}`, want: "text of a file"},
		{tool: "storage_list", input: `{"path":"a"}`, want: "b.txt"},
		{tool: "storage_delete", input: `{"path":"a/b.txt"}`, want: "Deleted"},

		{tool: "user_ask", input: `{"title":"T","message":"M","options":["tea","coffee"]}`, want: "tea"},
		{tool: "user_request", input: `{"title":"T","message":"M"}`, want: "an answer"},
		{tool: "system_get_info", input: `{}`, want: "everdesk"},
		{tool: "system_create_shortcut", input: `{"label":"News","icon":"📰","type":"action","target":"show the news"}`, want: "on the desktop", keep: `shortcut "([^"]+)"`, as: "shortcut"},
		{tool: "system_update_shortcut", input: `{"shortcutId":"{shortcut}","label":"Papers"}`, want: "Changed"},
		{tool: "system_list_shortcuts", input: `{}`, want: "Papers"},
		{tool: "system_remove_shortcut", input: `{"shortcutId":"{shortcut}"}`, want: "Removed"},
		{tool: "system_skill", input: `{"name":"forms"}`, want: "form"},
		{tool: "system_get_env_var", input: `{"name":"PATH"}`, want: "/"},
		{tool: "system_memorize", input: `{"content":"likes tea"}`, want: "Remembered", keep: `(mem-\d+)`, as: "memory"},
		{tool: "system_list_memories", input: `{}`, want: "likes tea"},
		{tool: "system_forget", input: `{"id":"{memory}"}`, want: ""},
		{tool: "system_set_config", input: `{"section":"hooks","event":"launch","action":{"type":"interaction","payload":"hello"}}`, want: "Added", keep: `(hook-\d+)`, as: "hook"},
		{tool: "system_get_config", input: `{}`, want: `"hooks"`},
		{tool: "system_remove_config", input: `{"hookId":"{hook}"}`, want: "Removed"},
		{tool: "system_list_reload_options", input: `{}`, want: "["},
		{tool: "task_run", input: `{"objective":"/say done"}`, want: `"completed"`},

		{tool: "system_run_js", input: `{"code":"input.a * 6","input":{"a":7}}`, want: "42"},
		{tool: "system_request_allowing_domain", input: `{"domain":"127.0.0.1","reason":"a test"}`, want: "allowed now"},
		{tool: "system_http_get", input: `{"url":"{site}/page"}`, want: "GET /page"},
		{tool: "system_http_post", input: `{"url":"{site}/form","body":"{}"}`, want: "POST /form"},
		{tool: "browser_open", input: `{"url":"{site}/page"}`, want: "Site"},
		{tool: "browser_type", input: `{"selector":"[name=q]","text":"x"}`, want: "Site"},
		{tool: "browser_press", input: `{"key":"Tab"}`, want: "Site"},
		{tool: "browser_click", input: `{"text":"Press me"}`, want: "Site"},
		{tool: "browser_scroll", input: `{"direction":"down"}`, want: "Site"},
		{tool: "browser_extract", input: `{}`, want: "GET /page"},
		{tool: "browser_screenshot", input: `{}`, want: "Site"},
		{tool: "browser_close", input: `{}`, want: ""},

		{tool: "dev_write_ts", input: `{"path":"src/main.ts","content":"export const n: number = 4711; document.title = String(n);"}`, want: "src/main.ts", keep: `sandbox (\d+)`, as: "sandbox"},
		{tool: "dev_read_ts", input: `{"sandboxId":"{sandbox}","path":"src/main.ts"}`, want: "4711"},
		{tool: "dev_apply_diff_ts", input: `{"sandboxId":"{sandbox}","path":"src/main.ts","old_string":"4711","new_string":"4712"}`, want: "Changed"},
		{tool: "dev_typecheck", input: `{"sandbox":"{sandbox}"}`, want: "No errors"},
		{tool: "dev_compile", input: `{"sandbox":"{sandbox}"}`, want: "Compiled"},
		{tool: "dev_compile_component", input: `{"sandboxId":"{sandbox}","filename":"src/form.json","components":[{"type":"text","content":"x"}]}`, want: "1 components"},
		{tool: "dev_deploy", input: `{"sandbox":"{sandbox}","appId":"number","skill":"It has a number."}`, want: "installed"},
		{tool: "dev_write_json", input: `{"appId":"number","filename":"app.json","content":{"name":"Number"}}`, want: "Wrote"},
		{tool: "dev_clone", input: `{"appId":"number"}`, want: "src/main.ts"},
		{tool: "apps_list", input: `{}`, want: `"number"`},
		{tool: "apps_load_skill", input: `{"appId":"number"}`, want: "It has a number."},
		{tool: "apps_write_config", input: `{"appId":"number","filename":"n.json","content":{"n":1}}`, want: "Wrote"},
		{tool: "apps_read_config", input: `{"appId":"number","filename":"n.json"}`, want: `{"n":1}`},
		{tool: "apps_set_app_badge", input: `{"appId":"number","count":3}`, want: "3"},
		{tool: "apps_market_list", input: `{}`, want: "todo"},
		{tool: "apps_market_get", input: `{"appId":"todo"}`, want: "installed"},
		{tool: "apps_market_delete", input: `{"appId":"todo"}`, want: "Deleted"},
		{tool: "window_create", input: `{"windowId":"app","title":"App","content":{"renderer":"iframe","content":"/api/apps/number/index.html"}}`, want: `window "app"`},
		{tool: "window_app_query", input: `{"windowId":"app","stateKey":"count"}`, want: "state of the app"},
		{tool: "window_app_command", input: `{"windowId":"app","command":"go"}`, want: "done by the app"},
		{tool: "window_unlock", input: `{"windowId":"note"}`, want: "nlocked"},
		{tool: "mcp__test__echo", input: `{"text":"over two servers"}`, want: "over two servers"},
	}
}

// badToolCase is a call that gives an error result with a text.
type badToolCase struct{ tool, input, want string }

// badToolCases are inputs that fit the schema, but name what does not exist, is not allowed or is outside. Those that
// do not fit the schema are derived from it.
func badToolCases() []badToolCase {
	all := []badToolCase{
		{"window_update", `{"windowId":"no","operation":"append","content":"x"}`, `no window "no"`},
		{"window_update", `{"windowId":"note","operation":"append"}`, "content: append needs it"},
		{"window_update", `{"windowId":"note","operation":"burn","content":"x"}`, "operation"},
		{"window_update_component", `{"windowId":"no","components":[{"type":"text","content":"x"}]}`, `no window "no"`},
		{"window_update_component", `{"windowId":"note","components":[{"type":"lever"}]}`, "components"},
		{"window_create_component", `{"windowId":"x","title":"X","components":[]}`, "at least one"},
		{"window_create_component", `{"windowId":"x","title":"X","jsonfile":"../x.json"}`, "not allowed"},
		{"window_create", `{"windowId":"x","title":"X","content":{"renderer":"table","content":"no table"}}`, "content.content"},
		{"window_create", `{"windowId":"","title":"X","content":{"renderer":"text","content":"x"}}`, "windowId"},
		{"window_create", `{"windowId":"x","title":"X","width":0,"content":{"renderer":"text","content":"x"}}`, "width"},
		{"window_move", `{"windowId":"no","x":1}`, `no window "no"`},
		{"window_move", `{"windowId":"note"}`, "at least one is needed"},
		{"window_close", `{"windowId":"no"}`, `no window "no"`},
		{"window_lock", `{"windowId":"no"}`, `no window "no"`},
		{"window_unlock", `{"windowId":"no"}`, `no window "no"`},
		{"window_view", `{"windowId":"no"}`, `no window "no"`},
		{"window_app_query", `{"windowId":"note","stateKey":"x"}`, "has no app"},
		{"window_app_command", `{"windowId":"no","command":"x"}`, `no window "no"`},
		{"storage_list", `{"path":"no"}`, "no"},
		{"storage_write", `{"path":"a\u0000b","content":"x"}`, "U+0000"},
		{"dev_write_ts", `{"path":"a\u0000b","content":"x"}`, "U+0000"},
		{"user_ask", `{"title":"T","message":"M","options":["one"]}`, "2 to 50"},
		{"user_ask", `{"title":"T","message":"M","options":["a","a"]}`, "twice"},
		{"system_create_shortcut", `{"label":"X","icon":"x","type":"url","target":"javascript:alert(1)"}`, "no address"},
		{"system_create_shortcut", `{"label":" ","icon":"x","type":"action","target":"x"}`, "label"},
		{"system_create_shortcut", `{"label":"X","icon":"x","type":"action","target":"x","osActions":[{"type":"dialog.confirm","id":"d","title":"t","message":"m"}]}`, "cannot ask"},
		{"system_update_shortcut", `{"shortcutId":"no","label":"X"}`, `no shortcut "no"`},
		{"system_remove_shortcut", `{"shortcutId":"no"}`, `no shortcut "no"`},
		{"system_skill", `{"name":"no"}`, `no guide "no"`},
		{"system_skill", `{"name":"forms","file":"../../etc/passwd"}`, "no text"},
		{"system_get_env_var", `{"name":"HOME"}`, "FORBIDDEN"},
		{"system_memorize", `{"content":"  "}`, "nothing to remember"},
		{"system_forget", `{"id":"no"}`, "no"},
		{"system_set_config", `{"section":"hooks"}`, "event"},
		{"system_set_config", `{"section":"settings","language":"!!"}`, "BCP 47"},
		{"system_remove_config", `{"hookId":"no"}`, `no hook "no"`},
		{"system_remove_config", `{}`, "either it or permission"},
		{"system_reload_cached", `{"cacheId":"no"}`, "no"},
		{"task_run", `{"objective":"x","profile":"root"}`, "profile"},
		{"system_run_js", `{"code":"throw new Error('bad')"}`, "bad"},
		{"system_run_js", `{"code":"for(;;);","timeout":100}`, "time"},
		{"system_run_js", `{"code":"1","timeout":60001}`, "timeout"},
		{"system_request_allowing_domain", `{"domain":"http://x/y"}`, "domain"},
		{"browser_open", `{"url":"http://10.0.0.1/"}`, "not allowed"},
		{"browser_open", `{"url":"{site}/page"}`, "not allowed"},
		{"browser_click", `{"text":"x"}`, "o page is open"},
		{"browser_type", `{"selector":"x","text":"x"}`, "o page is open"},
		{"browser_press", `{"key":"x"}`, "o page is open"},
		{"browser_scroll", `{"direction":"sideways"}`, "direction"},
		{"browser_extract", `{}`, "o page is open"},
		{"browser_screenshot", `{}`, "o page is open"},
		{"dev_compile", `{"sandbox":"1","entry":"../x.ts"}`, "no sandbox 1"},
		{"dev_deploy", `{"sandbox":"1","appId":"x"}`, "no sandbox 1"},
		{"dev_deploy", `{"sandbox":"1","appId":"../x"}`, "id"},
		{"dev_typecheck", `{"sandbox":"no"}`, "digits"},
		{"dev_read_ts", `{"sandboxId":"1"}`, "no sandbox 1"},
		{"dev_apply_diff_ts", `{"sandboxId":"1","path":"a","old_string":"a","new_string":"b"}`, "no sandbox 1"},
		{"apps_set_app_badge", `{"appId":"number","count":-1}`, "count"},
	}
	for _, address := range []string{
		"http://169.254.169.254/latest", "http://[::ffff:10.0.0.1]/", "http://2130706433/", "http://0177.0.0.1/", "https://elsewhere.example/", "ftp://127.0.0.1/", "no address", "file:///etc/passwd",
	} {
		all = append(all, badToolCase{"system_http_get", `{"url":"` + address + `"}`, ""}, badToolCase{"system_http_post", `{"url":"` + address + `","body":"x"}`, ""})
	}
	for _, path := range badPaths() {
		all = append(all,
			badToolCase{"storage_read", `{"path":` + path + `}`, "name"}, badToolCase{"storage_delete", `{"path":` + path + `}`, "name"},
			badToolCase{"storage_write", `{"path":` + path + `,"content":"x"}`, "name"},
			badToolCase{"dev_write_ts", `{"path":` + path + `,"content":"x"}`, "name"}, badToolCase{"dev_compile_component", `{"sandboxId":"1","filename":` + path + `,"components":[{"type":"text","content":"x"}]}`, ""},
			badToolCase{"apps_write_config", `{"appId":"none","filename":` + path + `,"content":"x"}`, "name"}, badToolCase{"apps_read_config", `{"appId":"none","filename":` + path + `}`, "name"},
			badToolCase{"dev_write_json", `{"appId":"none","filename":` + path + `,"content":"{}"}`, ""},
		)
	}
	for _, id := range []string{"none", "../none", "CON", "a/b", ".data", "Ä"} {
		for _, tool := range []string{"apps_load_skill", "apps_read_config", "apps_market_get", "apps_market_delete", "dev_clone"} {
			all = append(all, badToolCase{tool, `{"appId":"` + id + `"}`, ""})
		}
		all = append(all, badToolCase{"apps_write_config", `{"appId":"` + id + `","filename":"a","content":"x"}`, ""}, badToolCase{"dev_write_json", `{"appId":"` + id + `","filename":"a.json","content":"{}"}`, ""})
	}
	for _, id := range []string{"../x", "A", ""} {
		all = append(all, badToolCase{"apps_set_app_badge", `{"appId":"` + id + `","count":1}`, ""})
	}
	return all
}

// badPaths are names outside of the tree, or not safe on every system, as JSON.
func badPaths() []string {
	return []string{
		`"../out"`, `"a/../../out"`, `"/etc/passwd"`, `"a\\b"`, `"C:/x"`, `"CON"`, `"a/nul.txt"`, `"a//b"`, `"."`, `"a/"`, `"x\n"`,
	}
}

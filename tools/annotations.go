package tools

import (
	"encoding/json"
	"sync"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
)

// annotation describes a tool to programs outside the hub and to the people who use them. Models of
// the hub read the description only.
type annotation struct {
	title string
	hints providers.ToolHints
	// output, unless nil, returns the form of the result, which is JSON then.
	output func() *providers.ToolOutput
}

// Hints of tools. All tools act on the desktop and the storage of the hub, except those that reach
// programs and pages elsewhere.
var (
	reads    = providers.ToolHints{ReadOnly: true, Idempotent: true}
	adds     = providers.ToolHints{}
	sets     = providers.ToolHints{Idempotent: true}
	replaces = providers.ToolHints{Destructive: true, Idempotent: true}
	changes  = providers.ToolHints{Destructive: true}
	reaches  = providers.ToolHints{Destructive: true, OpenWorld: true}
)

// annotations returns the annotation of every tool, by its name.
func annotations() map[string]annotation {
	return map[string]annotation{
		"window:create":                  {title: "Open a window", hints: providers.ToolHints{Destructive: true, Idempotent: true, OpenWorld: true}},
		"window:create_component":        {title: "Open a window with components", hints: replaces},
		"window:update":                  {title: "Change a window", hints: changes},
		"window:update_component":        {title: "Replace the components of a window", hints: replaces},
		"window:move":                    {title: "Move a window", hints: sets},
		"window:close":                   {title: "Close a window", hints: replaces},
		"window:lock":                    {title: "Lock a window", hints: sets},
		"window:unlock":                  {title: "Unlock a window", hints: sets},
		"window:list":                    {title: "List windows", hints: reads, output: listOutput[windowLine]("windows")},
		"window:view":                    {title: "Read a window", hints: reads},
		"window:show_notification":       {title: "Show a notification", hints: adds},
		"window:dismiss_notification":    {title: "Remove a notification", hints: replaces},
		"window:show_toast":              {title: "Show a toast", hints: adds},
		"window:dismiss_toast":           {title: "Remove a toast", hints: replaces},
		"window:app_query":               {title: "Query an app", hints: providers.ToolHints{ReadOnly: true, Idempotent: true, OpenWorld: true}},
		"window:app_command":             {title: "Command an app", hints: reaches},
		"storage:read":                   {title: "Read a file", hints: reads},
		"storage:list":                   {title: "List files", hints: reads, output: listOutput[fileLine]("files")},
		"storage:write":                  {title: "Write a file", hints: replaces},
		"storage:delete":                 {title: "Delete a file", hints: replaces},
		"user:ask":                       {title: "Ask the user to choose", hints: adds},
		"user:request":                   {title: "Ask the user for a text", hints: adds},
		"system:get_info":                {title: "Describe the desktop", hints: reads, output: objectOutput[info]()},
		"system:skill":                   {title: "Read a guide", hints: reads},
		"system:http_get":                {title: "Read a page of the web", hints: providers.ToolHints{ReadOnly: true, Idempotent: true, OpenWorld: true}},
		"system:http_post":               {title: "Send data to a server", hints: reaches},
		"system:request_allowing_domain": {title: "Ask to allow a domain", hints: adds},
		"browser:open":                   {title: "Open a web page", hints: providers.ToolHints{ReadOnly: true, Idempotent: true, OpenWorld: true}},
		"browser:click":                  {title: "Click on a web page", hints: reaches},
		"browser:type":                   {title: "Type on a web page", hints: reaches},
		"browser:press":                  {title: "Press a key on a web page", hints: reaches},
		"browser:scroll":                 {title: "Scroll a web page", hints: adds},
		"browser:screenshot":             {title: "Look at a web page", hints: providers.ToolHints{ReadOnly: true, OpenWorld: true}},
		"browser:extract":                {title: "Read an open web page", hints: providers.ToolHints{ReadOnly: true, OpenWorld: true}},
		"browser:close":                  {title: "Close the browser", hints: sets},
		"notebook:open":                  {title: "Open a notebook", hints: replaces},
		"notebook:run_cell":              {title: "Run code in a notebook", hints: reaches},
		"notebook:insert_cell":           {title: "Add a cell", hints: adds},
		"notebook:edit_cell":             {title: "Change a cell", hints: replaces},
		"notebook:delete_cell":           {title: "Delete a cell", hints: replaces},
		"notebook:list":                  {title: "List notebooks", hints: reads, output: listOutput[notebookLine]("notebooks")},
		"notebook:read":                  {title: "Read a notebook", hints: reads},
		"kernel:interrupt":               {title: "Interrupt code", hints: sets},
		"kernel:restart":                 {title: "Restart a kernel", hints: changes},
		"kernel:complete":                {title: "Complete code", hints: reads},
		"system:run_js":                  {title: "Run JavaScript", hints: reads},
		"system:get_env_var":             {title: "Read an environment variable", hints: reads},
		"system:create_shortcut":         {title: "Put an icon on the desktop", hints: adds},
		"system:update_shortcut":         {title: "Change an icon on the desktop", hints: replaces},
		"system:remove_shortcut":         {title: "Remove an icon from the desktop", hints: replaces},
		"system:list_shortcuts":          {title: "List the icons on the desktop", hints: reads, output: listOutput[shortcutLine]("shortcuts")},
		"system:memorize":                {title: "Remember a fact about the user", hints: adds},
		"system:list_memories":           {title: "List what is remembered about the user", hints: reads, output: listOutput[memoryItem]("memories")},
		"system:forget":                  {title: "Forget a fact about the user", hints: replaces},
		"system:set_config":              {title: "Add a hook or change settings", hints: changes},
		"system:get_config":              {title: "Show hooks, settings and permissions", hints: reads, output: objectOutput[configResult]()},
		"system:remove_config":           {title: "Remove a hook or a permission", hints: replaces},
		"system:reload_cached":           {title: "Do something again", hints: changes},
		"system:list_reload_options":     {title: "List what can be done again", hints: reads, output: listOutput[policies.ReloadOption]("options")},
		"apps:list":                      {title: "List the user's apps", hints: reads, output: listOutput[appLine]("apps")},
		"apps:load_skill":                {title: "Read how to use an app", hints: reads},
		"apps:read_config":               {title: "Read the data of an app", hints: reads},
		"apps:write_config":              {title: "Write the data of an app", hints: replaces},
		"apps:set_app_badge":             {title: "Show a count on an app's icon", hints: sets},
		"apps:market_list":               {title: "List apps that can be installed", hints: reads, output: listOutput[appLine]("apps")},
		"apps:market_get":                {title: "Install an app", hints: replaces},
		"apps:market_delete":             {title: "Delete an app", hints: replaces},
		"dev:read_ts":                    {title: "Read the source of an app", hints: reads},
		"dev:write_ts":                   {title: "Write the source of an app", hints: replaces},
		"dev:apply_diff_ts":              {title: "Change the source of an app", hints: changes},
		"dev:compile":                    {title: "Compile an app", hints: sets},
		"dev:compile_component":          {title: "Write components of an app", hints: replaces},
		"dev:typecheck":                  {title: "Check the source of an app", hints: reads},
		"dev:deploy":                     {title: "Deploy an app", hints: replaces},
		"dev:clone":                      {title: "Copy the source of an app", hints: adds},
		"dev:write_json":                 {title: "Write a JSON file of an app", hints: replaces},
		"task:run":                       {title: "Delegate a task to an agent", hints: reaches, output: objectOutput[TaskResult]()},
		"plan:progress":                  {title: "Report progress", hints: sets},
		"plan:input":                     {title: "Ask for a value", hints: adds},
	}
}

// objectOutput returns the form of a result that is an object.
func objectOutput[T any]() func() *providers.ToolOutput {
	return sync.OnceValue(func() *providers.ToolOutput { return &providers.ToolOutput{Schema: schemaOf[T]().text} })
}

// listOutput returns the form of a result that is a list. Programs get it as the field key of an
// object.
func listOutput[T any](key string) func() *providers.ToolOutput {
	return sync.OnceValue(func() *providers.ToolOutput {
		schema, err := json.Marshal(map[string]any{
			"type": "object", "required": []string{key},
			"properties": map[string]any{key: map[string]any{"type": "array", "items": schemaOf[T]().text}},
		})
		if err != nil {
			panic("tools: schema of a list: " + err.Error()) // never happens: these are maps and strings
		}
		return &providers.ToolOutput{Schema: schema, Key: key}
	})
}

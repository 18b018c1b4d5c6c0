package tools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/skills"
)

// guides returns the texts that every hub has, and those of the operator. One of the operator replaces
// one of the hub.
func guides(cfg Config) []skills.Skill {
	all := []skills.Skill{
		{Name: "windows", About: "which kind and size of window fits, tables and charts", Text: guideWindows},
		{Name: "forms", About: "windows with inputs and buttons", Text: guideForms},
		{Name: "charts", About: "numbers as pictures: which kind, and how to fill it", Text: guideCharts},
		{Name: "html", About: "pages and small apps of your own", Text: guideHTML},
		{Name: "plans", About: "work in steps that depend on each other", Text: guidePlans},
	}
	if cfg.Apps != nil {
		all = append(all, skills.Skill{Name: "apps", About: "apps that stay on the user's desktops", Text: guideApps})
	}
	for _, s := range cfg.Skills {
		all = append(slices.DeleteFunc(all, func(o skills.Skill) bool { return o.Name == s.Name }), s)
	}
	return all
}

func skillTools(cfg Config) []tool {
	var about strings.Builder
	about.WriteString("Read how to do something well on this desktop, before you do it for the first time in a conversation.")
	for _, s := range guides(cfg) {
		about.WriteString(" " + s.Name + ": " + strings.TrimSuffix(s.About, ".") + ".")
	}
	return []tool{{name: "system:skill", in: everyone, parallel: true, repeatable: true, use: with(loadSkill), about: about.String()}}
}

type skillInput struct {
	Name  string `json:"name,omitempty" wire:"max=64"`
	Topic string `json:"topic,omitempty" jsonschema:"Another word for name." wire:"max=64"`
	File  string `json:"file,omitempty" jsonschema:"Another text of the guide, if it names one." wire:"max=500"`
}

// topics are the names that guides have in YAAR, whose agents and skills may use them.
var topics = map[string]string{"app_dev": "apps", "sandbox": "apps", "app_protocol": "apps", "components": "forms", "host_api": "html"}

// guideNamed returns the index of the guide with a name, or with the one that a topic stands for, or -1.
func guideNamed(all []skills.Skill, name string) int {
	named := func(name string) int {
		return slices.IndexFunc(all, func(s skills.Skill) bool { return s.Name == name })
	}
	if i := named(name); i >= 0 {
		return i
	}
	if i := named(topics[name]); i >= 0 {
		return i
	}
	if name == "app_protocol" { // without apps, pages in windows speak it
		return named("html")
	}
	return -1
}

func loadSkill(ctx context.Context, u *use, in skillInput) providers.ToolResult {
	all := append(guides(u.cfg), u.workspaceSkills(u.guidanceOf(ctx, u.Caller))...)
	in.Name = cmp.Or(in.Name, in.Topic)
	i := guideNamed(all, in.Name)
	var r providers.ToolResult
	switch {
	case in.Topic != "" && in.Topic != in.Name:
		r = fail("name and topic are the same thing; give one of them.")
	case in.Name == "":
		r = failf("name is missing. The guides are: %s.", guideNames(all))
	case i < 0:
		r = failf("There is no guide %q. The guides are: %s.", in.Name, guideNames(all))
	case in.File == "":
		r = text(all[i].Text)
	default:
		t, err := all[i].File(in.File)
		if r = text(t); err != nil {
			r = failf("The guide %s has no text %q.", in.Name, in.File)
		}
	}
	return u.act(ctx, func(*desktop.State) Plan { return Plan{Result: r} })
}

// guideNames returns the names of guides with commas.
func guideNames(all []skills.Skill) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

// The guides. They say only what works.
const (
	guideWindows = `Windows that people keep

Which kind
- markdown: explanations, reports, lists, short comparisons. GitHub-flavoured: headings, lists, small tables, code with a language, links, and diagrams as a code block with the language mermaid.
- table: rows of the same kind, from about five rows or three columns on. Units go into the header, not into each cell; the most important column comes first; numbers of a column have the same precision. The user can sort, filter and edit it; <ui:edit> in the timeline says what the user changed. formats, one for each column, say how plain numbers are written: {"headers":["Item","Share","Price"],"rows":[["Rent","0.4","930.5"]],"formats":[{},{"kind":"percent"},{"kind":"currency","currency":"EUR"}]}; kind is number, percent, currency, text (for ids and years) or auto, decimals is optional.
- chart: numbers to compare (see the guide charts).
- component: something to fill in, to choose or to press, a checklist or a kanban board (see the guide forms).
- html: dashboards, calendars, maps, small tools and games (see the guide html).
- text: logs and raw output.
- iframe: a file of this desktop's storage, by the address /files/PATH, such as a picture or a page that you wrote there. Other sites are not shown: give their address as a link in markdown, and the user can open it.

How large
- Leave out x, y, width and height unless the user asked for a place: the hub finds free space and a size that fits the content.
- If you do choose: a short text 420×300, a report 640×560, a table 120 per column and 40 per row up to the screen, a form 420 wide, a chart 640×420, a dashboard 960×640. The environment says how large the screen is; stay inside it, and leave windows that the user arranged where they are.
- One topic, one window. For several views of the same data make one window with sections, not four windows.

What is in it
- The title says what it is ("Rent 2026, by month"), not that it is one. The first line is the answer; details follow. Say where figures come from and of which date they are.
- Show all of the data that the user gave, or say what you left out. Never make up figures; write "unknown".
- When something changes, update the window (append, or replace everything) instead of opening it again.`

	guideForms = `Windows with inputs and buttons (window_create_component)

- Components do not nest; they lie in a grid of cols columns, in reading order. Types: text, input, select, button, badge, progress, image, checklist, kanban.
- Inputs and selects of one form share a formId, and each has a name; the button names the form in submitForm. The label says what to enter; the placeholder shows an example; preset what you know.
- When a button is pressed, the agent of the window gets its action and all values of the form, in one message. So one button per decision, with a verb as the label and a telling action ("save", not "button1"). The main button has the variant primary; danger is for what cannot be undone.
- Answer a press by changing this window: show the result, an error beside what was wrong with the values kept, or the next step.
- A list to tick off is a checklist, {"type":"checklist","label":"Packing","items":[{"text":"Passport"},{"text":"Charger","done":true}]}; work in stages is a board, {"type":"kanban","columns":[{"title":"To do","cards":[{"text":"Write the offer","note":"Mina"}]},{"title":"Done","cards":[]}]}. The user ticks, adds, renames, moves and deletes items without you; what changed is in your timeline as <ui:edit>. When you replace such a window, keep what the user did.
- Five fields fit well; for more make steps.

{"windowId":"trip","title":"Plan a trip","cols":2,"width":420,"height":320,"components":[
 {"type":"text","content":"Where to, and when?"},
 {"type":"badge","label":"Step 1 of 2"},
 {"type":"input","name":"city","formId":"trip","label":"City","placeholder":"Lisbon"},
 {"type":"input","name":"days","formId":"trip","label":"Days","placeholder":"3"},
 {"type":"button","label":"Find hotels","action":"find_hotels","submitForm":"trip","variant":"primary"}]}`

	guideCharts = `Charts (window_create with renderer chart)

The desktop draws the content: a kind, labels and series of numbers.
{"windowId":"rent","title":"Rent 2026, by month","content":{"renderer":"chart","content":{"kind":"line","labels":["Jan","Feb","Mar"],"series":[{"name":"Rent","values":[900,930,980]}],"unit":"€","description":"Rent rose by 9 % from January to March."}}}

Which kind
- line: a course over time, several series to compare. area: the same with a total; the series are stacked.
- bar: categories. Sort them by size unless they have an order of their own (months, sizes). Several series stand side by side.
- pie: parts of a whole, at most six; put the rest into "Other". With parts of nearly the same size a bar chart is easier to read.
- scatter: pairs, to see whether two things belong together: "series":[{"name":"Flats","points":[[45,900],[60,1150]]}] with xTitle and yTitle, which name the axes with their units. It has no labels.
- A single number is no chart: say it. More than one row of text for each number is a table.

How
- One value for each label in every series, at most 12 series of 2000 values. More than five lines are hard to tell apart: draw the ones that matter, or make two charts.
- Numbers are plain: 1150.5, no units, no separators of thousands. What is unknown is no 0: leave out its label, and say so.
- All series of one chart have the same unit; two units are two charts. Shares are in percent with the unit %.
- The title says what is shown, of when and by what. description says the point in a sentence, also for users who cannot see the chart.
- The user can read the numbers as a table and take them along. New numbers: replace the content of the window, with all series.
- Maps, gauges, calendars and charts that move or react are html (see the guide html). For values that the user wants to keep changing there is an app.`

	guidePlans = `Plans: work in steps that depend on each other

A plan is made when the user sends a message in the mode plan. The hub asks you for the todos, shows them for review, runs up to four at once, each with an agent of its own, and writes the answer from their results. In other modes no plan is made: do the work, or delegate parts of it (task_run).

Making the todos
- Each todo is one piece of work with a result that can be checked: "List five hotels in Lisbon below 120 € with their addresses", not "Research". Its agent knows the conversation so far, but of the other todos only the results of those that it depends on: name everything else in the task.
- depends_on only where a result is needed; everything else runs at the same time. No cycles. 3 to 8 todos fit most requests, 50 is the limit. A todo that only sums up the others is not needed: the answer does.
- tool is the profile of its agent: web reads pages, code computes, app makes apps, default has all of it. Leave it out if in doubt. priority: higher runs first.
- inputs are values that only the user can give: field, question, input_type (such as text, number, date, choice), required, and a default_value where there is a usual one. Asked before the todo starts, while others run.
- requires_approval with approval_reason for what costs money or cannot be undone. estimated_cost_usd and estimated_duration_sec if you know them. max_retries is 3; 0 for what must not be tried twice.

Working on a todo
- plan_progress after each step: the share in percent, and what comes next. plan_input asks for a value that you cannot go on without; better than guessing.
- Put results into files of the storage or into one window, and say their names in the summary at the end: it is all that later todos and the answer get.
- When it cannot be done, say why and what is missing. A todo that fails is tried again; what it did before is still there, so look before you do it twice.`

	guideHTML = `HTML windows

What they may do
- One file: HTML with its CSS and scripts inside. Pictures and fonts only as data: addresses. No network at all: no fetch, no scripts, styles, fonts, maps or pictures from other addresses, no frames, no storage of the browser, no dialogs (alert, confirm), no form submission. So no libraries: write SVG, canvas and plain JavaScript.
- The data belongs into the file. To change it later, register commands (below) instead of replacing the page, which would lose what the user did in it.
- A link is opened in another tab after the user agrees.
- The page fills its window: let it grow and shrink (width: 100%, viewBox on SVG), from 320 pixels on. The default is black text on white in the system's font; set both colours if you set one.

How they talk with you
- yaar.app.sendInteraction("text or object"): a message to the agent of the window. It works only right after the user clicked or typed in the page, at most once a second and twelve times a minute. It arrives in <app_interaction>.
- yaar.app.register({appId, name, state, commands}): afterwards window_app_query reads a state and window_app_command runs a command; the state key "manifest" lists both.

<!doctype html><meta charset="utf-8"><style>
 body{margin:16px;font:14px/1.5 system-ui;color:#16202e;background:#fff} svg{width:100%;height:220px} rect{fill:#3b6fd4} text{font-size:12px}
</style>
<h2>Rent by month, €</h2><svg viewBox="0 0 600 220" role="img" aria-label="Bars of rent by month"></svg><button>Explain the highest month</button>
<script>
 let data=[["Jan",900],["Feb",910],["Mar",980]];
 const svg=document.querySelector("svg"), top=()=>Math.max(...data.map(d=>d[1]));
 function draw(){const w=600/data.length; svg.innerHTML=data.map(([m,v],i)=>{const h=180*v/top();
  return '<rect x="'+(i*w+8)+'" y="'+(190-h)+'" width="'+(w-16)+'" height="'+h+'"/><text x="'+(i*w+w/2)+'" y="208" text-anchor="middle">'+m+'</text><text x="'+(i*w+w/2)+'" y="'+(184-h)+'" text-anchor="middle">'+v+'</text>'}).join("")}
 draw();
 document.querySelector("button").onclick=()=>yaar.app.sendInteraction({explain:data.find(d=>d[1]===top())[0]});
 yaar.app.register({appId:"rent",name:"Rent",state:{data:{description:"month and rent",handler:()=>data}},
  commands:{set:{description:"replace the data",params:{data:"[[month, rent]]"},handler:p=>{data=p.data;draw()}}}});
</script>`
)

package tools

import (
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
		{Name: "html", About: "pages and small apps of your own", Text: guideHTML},
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
	Name string `json:"name" wire:"min=1,max=64"`
	File string `json:"file,omitempty" jsonschema:"Another text of the guide, if it names one." wire:"max=500"`
}

func loadSkill(ctx context.Context, u *use, in skillInput) providers.ToolResult {
	all := guides(u.cfg)
	i := slices.IndexFunc(all, func(s skills.Skill) bool { return s.Name == in.Name })
	var r providers.ToolResult
	switch {
	case i < 0:
		names := make([]string, len(all))
		for i, s := range all {
			names[i] = s.Name
		}
		r = failf("There is no guide %q. The guides are: %s.", in.Name, strings.Join(names, ", "))
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

// The guides. They say only what works.
const (
	guideWindows = `Windows that people keep

Which kind
- markdown: explanations, reports, lists, short comparisons. GitHub-flavoured: headings, lists, small tables, code with a language, links, and diagrams as a code block with the language mermaid.
- table: rows of the same kind, from about five rows or three columns on. Units go into the header, not into each cell; the most important column comes first; numbers of a column have the same precision. The user can sort it.
- chart: numbers to compare. The desktop draws them from {"kind":"line","labels":["Jan","Feb"],"series":[{"name":"Rent","values":[900,930]}],"unit":"€","description":"Rent rose by 3 % in February."}. line for a course over time, area for one with a total (stacked), bar for categories, pie for at most six parts of a whole, scatter for pairs ("series":[{"name":"Flats","points":[[45,900],[60,1150]]}], xTitle and yTitle name the axes). One value for each label; at most 12 series of 2000 values. description says the point in a sentence, also for users who cannot see it. The user can read the numbers as a table and take them along.
- component: something to fill in, to choose or to press (see the guide forms).
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

- Components do not nest; they lie in a grid of cols columns, in reading order. Types: text, input, select, button, badge, progress, image.
- Inputs and selects of one form share a formId, and each has a name; the button names the form in submitForm. The label says what to enter; the placeholder shows an example; preset what you know.
- When a button is pressed, the agent of the window gets its action and all values of the form, in one message. So one button per decision, with a verb as the label and a telling action ("save", not "button1"). The main button has the variant primary; danger is for what cannot be undone.
- Answer a press by changing this window: show the result, an error beside what was wrong with the values kept, or the next step.
- Five fields fit well; for more make steps.

{"windowId":"trip","title":"Plan a trip","cols":2,"width":420,"height":320,"components":[
 {"type":"text","content":"Where to, and when?"},
 {"type":"badge","label":"Step 1 of 2"},
 {"type":"input","name":"city","formId":"trip","label":"City","placeholder":"Lisbon"},
 {"type":"input","name":"days","formId":"trip","label":"Days","placeholder":"3"},
 {"type":"button","label":"Find hotels","action":"find_hotels","submitForm":"trip","variant":"primary"}]}`

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

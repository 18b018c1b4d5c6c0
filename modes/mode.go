package modes

import "github.com/everdesk/everdesk/wire"

// Tool profiles of modes. They limit the tools of every agent beyond what its kind has.
const (
	// ToolsAll has all tools of the agent.
	ToolsAll = "all"
	// ToolsShow has the tools that read, ask, and show or change windows and notices. It changes no files,
	// no settings and no memory, and commands no apps.
	ToolsShow = "show"
	// ToolsRead has the tools that read and ask. It changes nothing.
	ToolsRead = "read"
)

// ToolProfiles returns the tool profiles of modes, the widest first.
func ToolProfiles() []string { return []string{ToolsAll, ToolsShow, ToolsRead} }

// Mode says how agents work.
type Mode struct {
	// ID identifies the mode among those of its user.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Instructions are for the agent, in addition to those of its role.
	Instructions string `json:"instructions"`
	// Tools is the tool profile.
	Tools string `json:"toolProfile"`
	// Model is the id or the name of a model profile; empty means that of the session.
	Model string `json:"model"`
	// Approval holds the auto-approval rules; nil means those of the session.
	Approval *wire.AutoApproval `json:"approval"`

	// Shipped says that the hub has a mode with this id, and Overridden that the user has changed it.
	// They are not stored.
	Shipped    bool `json:"-"`
	Overridden bool `json:"-"`
}

// Ids of the shipped modes.
const (
	Code      = "code"
	Architect = "architect"
	Ask       = "ask"
	Debug     = "debug"
)

// Shipped returns the modes that every user has.
func Shipped() []Mode {
	return []Mode{
		{
			ID: Code, Name: "Code", Tools: ToolsAll, Shipped: true,
			Instructions: "You write and change programs and files. Read what is there before you change it, follow its style, and make the smallest change that does what was asked. Check the result before you say that it is done, and say what you did not check.",
		},
		{
			ID: Architect, Name: "Architect", Tools: ToolsShow, Shipped: true,
			Instructions: "You plan before anything is built. Find out what is there and what is needed, ask about what is unclear, and weigh two or three ways. Write the plan into a window: the goal, the steps in order, what each needs, the risks, and how to tell that it works. Change no files; the plan is your result.",
		},
		{
			ID: Ask, Name: "Ask", Tools: ToolsRead, Shipped: true,
			Instructions: "You answer questions and explain. Read files and windows as needed, and answer in the chat. Change nothing and open no windows. If something should be changed, describe the change, and say that another mode can make it.",
		},
		{
			ID: Debug, Name: "Debug", Tools: ToolsAll, Shipped: true,
			Instructions: "You find the cause of a fault before you change anything. Reproduce it, write down several possible causes, and narrow them down with observations, the likeliest first. Say which cause you found and what shows it. Then make the smallest change that removes it, and check that the fault is gone.",
		},
	}
}

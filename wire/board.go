package wire

// ChecklistComponent is a list of things to do. Users tick, add, rename, move and remove items; WindowEdit stores
// that.
type ChecklistComponent struct {
	Label string          `json:"label,omitempty" wire:"max=200"`
	Items []ChecklistItem `json:"items" wire:"max=500"`
}

// ChecklistItem is one thing to do.
type ChecklistItem struct {
	Text string `json:"text" wire:"max=1000"`
	Done bool   `json:"done,omitempty"`
}

// KanbanComponent is a board: columns of cards. Users add, rename, move and remove cards; WindowEdit stores that.
type KanbanComponent struct {
	Label   string         `json:"label,omitempty" wire:"max=200"`
	Columns []KanbanColumn `json:"columns" wire:"max=12"`
}

// KanbanColumn is one column of a board.
type KanbanColumn struct {
	Title string       `json:"title" wire:"max=200"`
	Cards []KanbanCard `json:"cards" wire:"max=300"`
}

// KanbanCard is one card of a board.
type KanbanCard struct {
	Text string `json:"text" wire:"max=1000"`
	// Note is a smaller line below the text, as in a name or a date.
	Note string `json:"note,omitempty" wire:"max=200"`
}

func (ChecklistComponent) component() {}
func (KanbanComponent) component()    {}

// plainComponents returns the components with texts instead of checklists and boards, which desktops written for YAAR do
// not draw. It changes nothing in the argument.
func plainComponents(all []Component) []Component {
	plain := make([]Component, 0, len(all))
	for _, c := range all {
		switch c := c.(type) {
		case ChecklistComponent:
			plain = append(plain, c.texts()...)
		case KanbanComponent:
			plain = append(plain, c.texts()...)
		default:
			plain = append(plain, c)
		}
	}
	return plain
}

func (c ChecklistComponent) texts() (texts []Component) {
	if c.Label != "" {
		texts = append(texts, TextComponent{Content: c.Label, Variant: TextSubheading})
	}
	for _, item := range c.Items {
		mark := "☐ "
		if item.Done {
			mark = "☑ "
		}
		texts = append(texts, TextComponent{Content: mark + item.Text})
	}
	return texts
}

func (c KanbanComponent) texts() (texts []Component) {
	if c.Label != "" {
		texts = append(texts, TextComponent{Content: c.Label, Variant: TextHeading})
	}
	for _, column := range c.Columns {
		texts = append(texts, TextComponent{Content: column.Title, Variant: TextSubheading})
		for _, card := range column.Cards {
			text := "• " + card.Text
			if card.Note != "" {
				text += " (" + card.Note + ")"
			}
			texts = append(texts, TextComponent{Content: text})
		}
	}
	return texts
}

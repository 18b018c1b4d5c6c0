package wire

// Layout is a grid of components. Components do not nest.
type Layout struct {
	Components []Component `json:"components"`
	Cols       *Columns    `json:"cols,omitempty"`
	// Gap defaults to md.
	Gap Gap `json:"gap,omitempty"`
}

// Columns is a number of equal columns, or their widths relative to each other.
type Columns struct {
	Count int       `wire:"min=1"`
	Ratio []float64 `wire:"min=1"`
}

func (Columns) choice() {}

// Gap is the space between components.
type Gap string

// The gaps.
const (
	GapNone   Gap = "none"
	GapSmall  Gap = "sm"
	GapMedium Gap = "md"
	GapLarge  Gap = "lg"
)

func (Gap) values() []string { return list(GapNone, GapSmall, GapMedium, GapLarge) }

// Component is one control in a layout; its `type` says which.
type Component interface{ component() }

func componentUnion() union {
	return unionOf[Component]("type",
		variant[ButtonComponent]("button"),
		variant[InputComponent]("input"),
		variant[SelectComponent]("select"),
		variant[TextComponent]("text"),
		variant[BadgeComponent]("badge"),
		variant[ProgressComponent]("progress"),
		variant[ImageComponent]("image"),
		variant[ChecklistComponent]("checklist"),
		variant[KanbanComponent]("kanban"),
	)
}

func (ButtonComponent) component()   {}
func (InputComponent) component()    {}
func (SelectComponent) component()   {}
func (TextComponent) component()     {}
func (BadgeComponent) component()    {}
func (ProgressComponent) component() {}
func (ImageComponent) component()    {}

// ButtonComponent sends COMPONENT_ACTION when pressed.
type ButtonComponent struct {
	Label  string `json:"label"`
	Action string `json:"action"`
	// Variant defaults to secondary.
	Variant  ButtonVariant `json:"variant,omitempty"`
	Size     ButtonSize    `json:"size,omitempty"`
	Disabled bool          `json:"disabled,omitempty"`
	Icon     string        `json:"icon,omitempty"`
	// Parallel false makes presses wait for each other; absent means true.
	Parallel *bool `json:"parallel,omitempty"`
	// SubmitForm is the form whose values are sent with the press.
	SubmitForm string `json:"submitForm,omitempty"`
}

// ButtonVariant is the appearance of a button.
type ButtonVariant string

// The variants of buttons.
const (
	ButtonPrimary   ButtonVariant = "primary"
	ButtonSecondary ButtonVariant = "secondary"
	ButtonGhost     ButtonVariant = "ghost"
	ButtonDanger    ButtonVariant = "danger"
)

func (ButtonVariant) values() []string {
	return list(ButtonPrimary, ButtonSecondary, ButtonGhost, ButtonDanger)
}

// ButtonSize is the size of a button.
type ButtonSize string

// The sizes of buttons.
const (
	ButtonSmall  ButtonSize = "sm"
	ButtonMedium ButtonSize = "md"
	ButtonLarge  ButtonSize = "lg"
)

func (ButtonSize) values() []string { return list(ButtonSmall, ButtonMedium, ButtonLarge) }

// InputComponent is a text field.
type InputComponent struct {
	Name         string       `json:"name"`
	FormID       string       `json:"formId,omitempty"`
	Label        string       `json:"label,omitempty"`
	Placeholder  string       `json:"placeholder,omitempty"`
	DefaultValue string       `json:"defaultValue,omitempty"`
	Variant      InputVariant `json:"variant,omitempty"`
	// Rows makes it a text area.
	Rows     int  `json:"rows,omitempty" wire:"min=0"`
	Disabled bool `json:"disabled,omitempty"`
}

// InputVariant is the purpose of a text field.
type InputVariant string

// The variants of text fields.
const (
	InputText     InputVariant = "text"
	InputEmail    InputVariant = "email"
	InputPassword InputVariant = "password"
	InputNumber   InputVariant = "number"
	InputURL      InputVariant = "url"
)

func (InputVariant) values() []string {
	return list(InputText, InputEmail, InputPassword, InputNumber, InputURL)
}

// SelectComponent is a choice.
type SelectComponent struct {
	Name         string   `json:"name"`
	Options      []Option `json:"options"`
	FormID       string   `json:"formId,omitempty"`
	Label        string   `json:"label,omitempty"`
	DefaultValue string   `json:"defaultValue,omitempty"`
	Placeholder  string   `json:"placeholder,omitempty"`
	Disabled     bool     `json:"disabled,omitempty"`
}

// Option is one of several values to choose from.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// TextComponent is text.
type TextComponent struct {
	Content   string      `json:"content"`
	Variant   TextVariant `json:"variant,omitempty"`
	Color     TextColor   `json:"color,omitempty"`
	TextAlign TextAlign   `json:"textAlign,omitempty"`
}

// TextVariant is the role of a text.
type TextVariant string

// The variants of text.
const (
	TextBody       TextVariant = "body"
	TextHeading    TextVariant = "heading"
	TextSubheading TextVariant = "subheading"
	TextCaption    TextVariant = "caption"
	TextCode       TextVariant = "code"
)

func (TextVariant) values() []string {
	return list(TextBody, TextHeading, TextSubheading, TextCaption, TextCode)
}

// TextColor is the colour of a text.
type TextColor string

// The colours of text.
const (
	ColorDefault TextColor = "default"
	ColorMuted   TextColor = "muted"
	ColorAccent  TextColor = "accent"
	ColorSuccess TextColor = "success"
	ColorWarning TextColor = "warning"
	ColorError   TextColor = "error"
)

func (TextColor) values() []string {
	return list(ColorDefault, ColorMuted, ColorAccent, ColorSuccess, ColorWarning, ColorError)
}

// TextAlign is the alignment of a text.
type TextAlign string

// The alignments of text.
const (
	AlignLeft   TextAlign = "left"
	AlignCenter TextAlign = "center"
	AlignRight  TextAlign = "right"
)

func (TextAlign) values() []string { return list(AlignLeft, AlignCenter, AlignRight) }

// BadgeComponent is a small label.
type BadgeComponent struct {
	Label   string       `json:"label"`
	Variant BadgeVariant `json:"variant,omitempty"`
}

// BadgeVariant is the colour of a badge.
type BadgeVariant string

// The variants of badges.
const (
	BadgeDefault BadgeVariant = "default"
	BadgeSuccess BadgeVariant = "success"
	BadgeWarning BadgeVariant = "warning"
	BadgeError   BadgeVariant = "error"
	BadgeInfo    BadgeVariant = "info"
)

func (BadgeVariant) values() []string {
	return list(BadgeDefault, BadgeSuccess, BadgeWarning, BadgeError, BadgeInfo)
}

// ProgressComponent is a bar.
type ProgressComponent struct {
	Value     float64         `json:"value" wire:"min=0,max=100"`
	Label     string          `json:"label,omitempty"`
	Variant   ProgressVariant `json:"variant,omitempty"`
	ShowValue bool            `json:"showValue,omitempty"`
}

// ProgressVariant is the colour of a bar.
type ProgressVariant string

// The variants of bars.
const (
	ProgressDefault ProgressVariant = "default"
	ProgressSuccess ProgressVariant = "success"
	ProgressWarning ProgressVariant = "warning"
	ProgressError   ProgressVariant = "error"
)

func (ProgressVariant) values() []string {
	return list(ProgressDefault, ProgressSuccess, ProgressWarning, ProgressError)
}

// ImageComponent is an image.
type ImageComponent struct {
	Src    string     `json:"src"`
	Width  *ImageSize `json:"width,omitempty"`
	Height *ImageSize `json:"height,omitempty"`
	Fit    ImageFit   `json:"fit,omitempty"`
}

// ImageSize is a number of pixels or a CSS length.
type ImageSize struct {
	Pixels *float64
	CSS    *string
}

func (ImageSize) choice() {}

// ImageFit is how an image fills its box.
type ImageFit string

// The ways an image fills its box.
const (
	FitContain ImageFit = "contain"
	FitCover   ImageFit = "cover"
	FitFill    ImageFit = "fill"
)

func (ImageFit) values() []string { return list(FitContain, FitCover, FitFill) }

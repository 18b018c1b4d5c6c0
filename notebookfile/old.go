package notebookfile

import (
	"encoding/json"
	"errors"
	"strings"
)

// oldFile is a notebook of the formats 2 and 3, which were written until 2015.
type oldFile struct {
	Sheets []struct {
		Cells []oldCell `json:"cells"`
	} `json:"worksheets"`
}

// oldCell is a cell of these formats. Input and Number belong to code, Level to headings.
type oldCell struct {
	cell

	Input   text        `json:"input"`
	Number  *int        `json:"prompt_number"`
	Level   int         `json:"level"`
	Outputs []oldOutput `json:"outputs"`
}

// oldOutput is an output of these formats. A display has its forms beside its type.
type oldOutput struct {
	output

	Stream string `json:"stream"`
	HTML   text   `json:"html"`
	SVG    text   `json:"svg"`
	PNG    text   `json:"png"`
	JPEG   text   `json:"jpeg"`
	LaTeX  text   `json:"latex"`
}

// readOld replaces the cells by those of a file of an old format, in the present one.
func (f *file) readOld(data []byte) error {
	var old oldFile
	if err := json.Unmarshal(data, &old); err != nil {
		return err //nolint:wrapcheck // the caller says what it is
	}
	if old.Sheets == nil {
		return errors.New("it has no worksheets")
	}
	f.Format, f.Minor, f.Cells = 4, 5, nil
	for _, s := range old.Sheets {
		for i := range s.Cells {
			f.Cells = append(f.Cells, s.Cells[i].convert())
		}
	}
	return nil
}

func (c *oldCell) convert() cell {
	out := c.cell
	switch out.Kind {
	case "code":
		out.Source, out.Count = c.Input, c.Number
	case "heading":
		out.Kind, out.Source = "markdown", text(strings.Repeat("#", min(max(c.Level, 1), 6))+" ")+c.Source
	case "html":
		out.Kind = "markdown"
	}
	for i := range c.Outputs {
		out.Outputs = append(out.Outputs, c.Outputs[i].convert())
	}
	return out
}

func (o *oldOutput) convert() output {
	out := o.output
	switch out.Type {
	case "stream":
		if out.Name = o.Stream; out.Name == "" {
			out.Name = "stdout"
		}
		return out
	case "pyerr":
		out.Type = "error"
		return out
	case "pyout":
		out.Type = "execute_result"
	}
	out.Data = map[string]json.RawMessage{}
	for name, form := range map[string]text{
		"text/plain": o.Text, "text/html": o.HTML, "image/svg+xml": o.SVG, "image/png": o.PNG, "image/jpeg": o.JPEG, "text/latex": o.LaTeX,
	} {
		if form != "" {
			out.Data[name], _ = json.Marshal(form) // a string
		}
	}
	out.Text = ""
	return out
}

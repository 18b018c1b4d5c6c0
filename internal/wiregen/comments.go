package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// comments holds the comments of the source, each on one line.
type comments struct {
	types  map[string]string // by type
	fields map[string]string // by Type.Field
	values map[string]string // by Type=value, for constants
}

func readComments(source fs.FS) (comments, error) {
	c := comments{types: map[string]string{}, fields: map[string]string{}, values: map[string]string{}}
	names, err := fs.Glob(source, "*.go")
	if err != nil {
		return c, err
	}
	set := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return c, err
		}
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return c, fmt.Errorf("parse %s: %w", name, err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				c.declaration(d)
			}
		}
	}
	return c, nil
}

func (c comments) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = d.Doc
			}
			c.types[s.Name.Name] = plain(doc)
			if fields, ok := s.Type.(*ast.StructType); ok {
				c.structFields(s.Name.Name, fields)
			}
		case *ast.ValueSpec:
			c.constant(s)
		}
	}
}

func (c comments) structFields(typeName string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			c.fields[typeName+"."+name.Name] = plain(f.Doc)
		}
	}
}

// constant records the comment of a constant of a named string type.
func (c comments) constant(s *ast.ValueSpec) {
	typeName, ok := s.Type.(*ast.Ident)
	if !ok || len(s.Values) != 1 || s.Comment == nil {
		return
	}
	literal, ok := s.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	if value, err := strconv.Unquote(literal.Value); err == nil {
		c.values[typeName.Name+"="+value] = plain(s.Comment)
	}
}

// docLink is a reference in a Go comment, such as [Codes] or [*Error].
var docLink = regexp.MustCompile(`\[\*?([A-Za-z.]+)\]`)

func plain(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	text := strings.Join(strings.Fields(group.Text()), " ")
	return docLink.ReplaceAllString(text, "$1")
}

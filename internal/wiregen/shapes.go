package main

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// namedShapes returns all shapes with a name that can be reached from the catalog, the
// envelope and problem documents, ordered by name.
func namedShapes(catalog *wire.Catalog) []*wire.Shape {
	roots := []*wire.Shape{
		wire.FormatOf[wire.Problem]().Shape(),
		// Used by the envelope.
		wire.FormatOf[wire.SessionID]().Shape(), wire.FormatOf[wire.MessageID]().Shape(),
		wire.FormatOf[wire.Position]().Shape(),
	}
	for _, e := range catalog.All() {
		roots = append(roots, e.Shape)
	}
	return reachable(roots)
}

// serverShapes returns the named shapes reachable from the hub's events, ordered by name.
func serverShapes(catalog *wire.Catalog) []*wire.Shape {
	var roots []*wire.Shape
	for _, e := range catalog.All() {
		if e.Direction == wire.FromServer {
			roots = append(roots, e.Shape)
		}
	}
	return reachable(roots)
}

func reachable(roots []*wire.Shape) []*wire.Shape {
	seen := map[*wire.Shape]bool{}
	named := map[string]*wire.Shape{}
	var visit func(s *wire.Shape)
	visit = func(s *wire.Shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.Name != "" {
			named[s.Name] = s
		}
		visit(s.Elem)
		visit(s.Key)
		for _, f := range s.Fields {
			visit(f.Shape)
		}
		for _, v := range s.Variants {
			visit(v.Shape)
		}
	}
	for _, s := range roots {
		visit(s)
	}
	all := make([]*wire.Shape, 0, len(named))
	for _, s := range named {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *wire.Shape) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// needsData reports whether a payload has a required field.
func needsData(s *wire.Shape) bool {
	return slices.ContainsFunc(s.Fields, func(f wire.Field) bool { return !f.Optional })
}

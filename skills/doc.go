// Package skills reads texts that teach agents, from a folder of the operator.
//
// A skill is a folder with a file SKILL.md, the convention that several agents share: the file begins
// with its name and a description between lines of three dashes, and goes on with the text. The
// description is in the list of tools of every agent, so it is short; the text is loaded when an
// agent asks for it. Other files of the folder can be loaded by name.
package skills

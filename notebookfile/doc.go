// Package notebookfile reads and writes notebooks as files: the notebook format 4.5 of Jupyter, of which it reads all
// versions of 4, and scripts.
//
// What the hub knows about a cell beyond the format, such as the agent that wrote it, is in the metadata of the cell
// under "everdesk", which other programs keep.
package notebookfile

// Package pdf reads PDF files with the programs of poppler: pages as text and as pictures.
//
// PDF files come from users and from the web, and programs that read them have had many flaws. So
// each call is a process of its own: the hub starts its own program again, which limits its memory,
// its processor time and the files that it writes, and then becomes the program of poppler
// ([Work]). The file is its standard input, the environment is empty, and what it writes is bounded.
// On Linux it is killed with the hub.
//
// [Reader] is safe for concurrent use. Calls beyond a small number wait for each other.
package pdf

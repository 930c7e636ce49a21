// Package report shows what certificates say: one HTML page, figures for
// papers, tables and a summary for the terminal.
//
// All numbers are made in Go, from the runs' counts, and tested there; the
// page's script only chooses among them. What is printed errs on the side that
// promises less: proved shares and radii are cut, open shares and costs are
// rounded up, intervals grow.
//
// The page keeps three claims apart (prediction, group, pair; see package
// certify). It is one file: no request leaves it, which its own content
// security policy enforces, and it can be read where scripts are off. Names
// and paths from files are shown as text, whatever they hold.
//
// The package has no clock, goroutine or random source: the same runs give the
// same bytes.
package report

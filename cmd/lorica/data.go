package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lorica/dataset"
)

func newData() *cobra.Command {
	var split string
	var asJSON, verify bool
	c := &cobra.Command{
		Use:   "data SPEC",
		Short: "Show what is in a data set, with class counts",
		Long: `Open a data set, verify it, and show its identity (what a counts file records),
its shape and its classes. SPEC is one of

` + dataset.Specs + `

with options behind a question mark: folder:DIR?resize=192&crop=160 (shorter
side, centre crop), ham10000:DIR?task=malignancy (docs/data.md has all).`,
		Example: "  lorica data builtin\n  lorica data cifar10:cifar-10-batches-bin --split train\n  lorica data 'ham10000:ham?task=malignancy'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("data needs one data set, such as: lorica data cifar10:DIR")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			set, err := dataset.Open(args[0], split)
			if err != nil {
				return err
			}
			for _, w := range set.Warnings() {
				fmt.Fprintln(c.ErrOrStderr(), "warning:", w)
			}
			if verify {
				var pixels []byte
				for i := range set.Len() {
					if err := c.Context().Err(); err != nil {
						return err
					}
					if pixels, err = set.Pixels(i, pixels); err != nil {
						return err
					}
				}
			}
			info := describe(set)
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(info)
			}
			return info.print(c)
		},
	}
	c.Flags().StringVar(&split, "split", "", "train, val or test (default: test, or all where the data is not divided)")
	c.Flags().BoolVar(&verify, "verify", false, "decode every image, to find the one that is corrupt")
	c.Flags().BoolVar(&asJSON, "json", false, "print for programs")
	return c
}

// dataInfo is what the command shows.
type dataInfo struct {
	Data     string      `json:"data"`
	Split    string      `json:"split"`
	Shape    [3]int      `json:"shape"` // channels, height, width
	Examples int         `json:"examples"`
	Classes  []dataClass `json:"classes"`
}

type dataClass struct {
	Class    int    `json:"class"`
	Name     string `json:"name"`
	Examples int    `json:"examples"`
	First    int    `json:"first"` // index of the first example, -1 where there is none
}

func describe(set dataset.Set) dataInfo {
	ch, h, w := set.Shape()
	info := dataInfo{Data: set.Identity(), Split: set.Split(), Shape: [3]int{ch, h, w}, Examples: set.Len()}
	for class, name := range set.Classes() {
		info.Classes = append(info.Classes, dataClass{Class: class, Name: name, First: -1})
	}
	for i := range set.Len() {
		class := &info.Classes[set.Label(i)]
		if class.Examples == 0 {
			class.First = i
		}
		class.Examples++
	}
	return info
}

func (info dataInfo) print(c *cobra.Command) error {
	out := c.OutOrStdout()
	fmt.Fprintf(out, "data      %s\nsplit     %s\nshape     %d x %d x %d (channels, height, width)\nexamples  %d\n\n",
		info.Data, info.Split, info.Shape[0], info.Shape[1], info.Shape[2], info.Examples)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "class\texamples\tshare\tfirst index\t  name")
	for _, class := range info.Classes {
		first := "-"
		if class.First >= 0 {
			first = fmt.Sprint(class.First)
		}
		fmt.Fprintf(table, "%d\t%d\t%.1f%%\t%s\t  %s\n",
			class.Class, class.Examples, 100*float64(class.Examples)/float64(info.Examples), first, class.Name)
	}
	return table.Flush()
}

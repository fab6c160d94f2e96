-- Sums over the pages.

-- No table changes: from this version on every page has a sum at its end, and programs that would
-- write pages without one do not open the file. Whoever brings it here writes all of it anew once.

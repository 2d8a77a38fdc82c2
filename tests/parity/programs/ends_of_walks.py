"""Walks that end where they begin, and those that come to what was freed or written."""


def walks_that_end_where_they_begin(torch, see):
    """Of what has several nodes, only the last one runs, and asks for what it keeps itself."""
    x = torch.tensor([[0.5, 1.5], [2.0, -1.0]], requires_grad=True)
    three, row = torch.ones(1, 2, 2, requires_grad=True), torch.tensor([1.0, 2.0])

    def again(y):
        y.sum().backward()
        y.backward(torch.ones_like(y), inputs=[y])
        return y.grad

    linear = torch.nn.functional.linear
    see(
        scaled_last=again(torch.special.ndtr(x)),
        seen_in_another_form=again(linear(three, torch.ones(2, 2), row)),
        of_classes=again(torch.nn.functional.cross_entropy(x, x.detach())),
    )
    see.error(
        one_node=lambda: again(torch.addr(x, row, row)),
        a_stack=lambda: again(torch.bmm(three, three)),
        a_sum=lambda: again(x.nansum()),
        a_mean=lambda: again(torch.nn.functional.mse_loss(x, x.detach())),
        in_another_dtype=lambda: again((x * 1).mul_(row.double())),
    )


def one_node_asks_for_all_that_it_keeps(torch, see):
    whole, row = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    found = torch.addr(whole, row, row).sum()
    found.backward()
    see.error(another_operand=lambda: torch.autograd.grad(found, whole))
    other = torch.tensor([1.0, 2.0])
    found = torch.addr(whole, row, other).sum()
    other.mul_(2)
    see.error(written=lambda: torch.autograd.grad(found, whole))
